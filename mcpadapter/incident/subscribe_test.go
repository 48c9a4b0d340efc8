//lint:file-ignore SA1019 log messages are deprecated, and what the servers that report faults push

package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// notification is one line of a recorded session.
type notification struct {
	Level  mcp.LoggingLevel `json:"level"`
	Logger string           `json:"logger"`
	Data   any              `json:"data"`
}

// recorded reads a session of a Kubernetes server.
func recorded(t *testing.T) []notification {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "kubernetes-session.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var all []notification
	for dec := json.NewDecoder(f); ; {
		var n notification
		if dec.Decode(&n) != nil {
			break
		}
		all = append(all, n)
	}
	require.NotEmpty(t, all)
	return all
}

// player is a server that plays notifications to who subscribes.
type player struct {
	plays []notification
	mu    sync.Mutex
	modes []string
	fail  int // so many subscriptions are refused first
	token string
}

func (p *player) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "kubernetes-mcp-server", Version: "0"}, nil)
	type args struct {
		Mode      string `json:"mode"`
		Namespace string `json:"namespace,omitempty"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "events_subscribe"}, func(ctx context.Context, req *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.modes = append(p.modes, a.Mode+a.Namespace)
		if len(p.modes) <= p.fail {
			return nil, nil, errors.New("too many subscriptions")
		}
		go func() {
			for _, n := range p.plays {
				_ = req.Session.Log(context.Background(), &mcp.LoggingMessageParams{Level: n.Level, Logger: n.Logger, Data: n.Data})
			}
		}()
		return nil, map[string]string{"subscriptionId": "sub-1"}, nil
	})
	return s
}

// handler serves one server, until another one takes its place.
func (p *player) handler(t *testing.T) http.Handler {
	s := p.server()
	t.Cleanup(func() {
		for session := range s.Sessions() { // of clients that were cut off
			_ = session.Close()
		}
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.token != "" && r.Header.Get("Authorization") != "Bearer "+p.token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// listen runs a subscriber for as long as the test does.
func listen(t *testing.T, s *incident.Subscriber) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.ErrorIs(t, <-done, context.Canceled)
	})
}

// TestARecordedSession plays the notifications of a Kubernetes server, of both
// shapes and all its loggers.
func TestARecordedSession(t *testing.T) {
	p := &player{plays: recorded(t), token: "tok"}
	ts := httptest.NewServer(p.handler(t))
	t.Cleanup(ts.Close) // after the subscriber, which holds a connection
	events := make(chan incident.Event, 100)
	problems := make(chan error, 100)
	listen(t, &incident.Subscriber{
		Endpoint: ts.URL, Token: "tok", Mode: incident.ModeResourceFaults, Filter: map[string]any{"namespace": "-payments"},
		Sink: func(logger string, data json.RawMessage) error {
			e, err := incident.ParseEvent(logger, data, time.Now())
			if err == nil {
				events <- e
			}
			return err
		},
		OnError: func(err error) { problems <- err },
	})
	var got []string
	for range 4 {
		e := <-events
		got = append(got, e.Logger+" "+e.Key()+" "+e.Severity.String())
	}
	assert.Equal(t, []string{
		"kubernetes/faults prod/payments/Pod/worker-0/BackOff WARNING",
		"kubernetes/resource-faults prod/payments/Pod/worker-0/CrashLoop CRITICAL",
		"kubernetes/faults prod/kube-system/Pod/coredns-5d78/FailedMount WARNING",
		"kubernetes/resource-faults prod//Node/node-3/NodeUnhealthy WARNING",
	}, got, "in the order in which they were sent")
	problem := <-problems
	for _, part := range []string{"incident: the server reports of a subscription: ", "sub-7", "watch connection failed after 5 reconnection attempts"} {
		assert.ErrorContains(t, problem, part)
	}
	assert.Equal(t, []string{"resource-faults-payments"}, p.modes)
}

// TestALostSessionIsMadeAnew restarts the server, which then knows nothing of
// the session that the client has.
func TestALostSessionIsMadeAnew(t *testing.T) {
	t.Parallel() // its pauses are real
	first, second := &player{plays: recorded(t)[1:2]}, &player{plays: recorded(t)[2:3], fail: 1}
	var mu sync.Mutex
	current, next := first.handler(t), second.handler(t)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := current
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close) // after the subscriber, which holds a connection
	reasons, problems := make(chan string, 10), make(chan error, 10)
	listen(t, &incident.Subscriber{
		Endpoint: ts.URL,
		Sink: func(logger string, data json.RawMessage) error {
			e, err := incident.ParseEvent(logger, data, time.Now())
			reasons <- e.Reason
			return err
		},
		OnError: func(err error) { problems <- err },
	})
	assert.Equal(t, "BackOff", <-reasons)
	mu.Lock()
	current = next
	mu.Unlock()
	ts.CloseClientConnections()
	assert.ErrorContains(t, <-problems, "incident: session lost, next attempt in ")
	assert.ErrorContains(t, <-problems, "events_subscribe: too many subscriptions")
	assert.Equal(t, "CrashLoop", <-reasons, "after one refusal")
	assert.Equal(t, []string{"faults", "faults"}, second.modes, "faults is the mode unless told otherwise")
}

// TestAPasswordIsNotPrinted: an endpoint may hold one.
func TestAPasswordIsNotPrinted(t *testing.T) {
	for _, endpoint := range []string{"ftp://me:pass-1@host/mcp", "http://me:pass-1%zz@host"} {
		err := (&incident.Subscriber{Endpoint: endpoint, Sink: func(string, json.RawMessage) error { return nil }}).Check()
		assert.ErrorContains(t, err, "Endpoint is")
		assert.NotContains(t, err.Error(), "pass-1")
	}
}

func TestSubscriberSettings(t *testing.T) {
	err := (&incident.Subscriber{Endpoint: "localhost:8080", Mode: "all"}).Run(context.Background())
	assert.EqualError(t, err, `incident: Endpoint is "localhost:8080"; allowed: an http or https URL`+"\n"+
		"incident: Sink is missing; allowed: a function\n"+`incident: Mode is "all"; allowed: faults|resource-faults`)
}
