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
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// TestARecordedSession plays the notifications of a Kubernetes server, of both shapes and
// all its loggers, through the whole of the runner.
func TestARecordedSession(t *testing.T) {
	p := &player{plays: append(recorded(t), recorded(t)...), token: "tok"} // all of it twice
	ts := httptest.NewServer(p.handler(t))
	t.Cleanup(ts.Close) // after the subscriber, which holds a connection
	problems := make(chan error, 100)
	d := open(t, incident.AgentFunc(reports), func(o *incident.Options) { o.MaxAgents = 1 })
	t.Cleanup(d.stop)
	listen(t, &incident.Subscriber{Endpoint: ts.URL, Token: "tok", Mode: incident.ModeResourceFaults, Filter: map[string]any{"namespace": "-payments"},
		Sink: d.Offer, OnError: func(err error) { problems <- err }})
	var got []string
	for range 4 {
		in := <-d.ended
		assert.Equal(t, incident.StatusResolved, in.Status)
		got = append(got, strings.Join([]string{in.Cluster, in.Namespace, in.Resource.Kind, in.Resource.Name, in.FaultType, in.Severity.String()}, "/"))
	}
	assert.Equal(t, []string{"prod/payments/Pod/worker-0/BackOff/WARNING", "prod/payments/Pod/worker-0/CrashLoop/CRITICAL",
		"prod/kube-system/Pod/coredns-5d78/FailedMount/WARNING", "prod//Node/node-3/NodeUnhealthy/WARNING"}, got, "in order, each once")
	// A message counts as delivered once the notifier has returned, so after it was read here.
	require.EventuallyWithT(t, func(now *assert.CollectT) {
		assert.Equal(now, incident.Counts{Received: 8, Duplicate: 4, Resolved: 4, Notified: 4}, d.Counts())
	}, 20*time.Second, time.Millisecond)
	problem := <-problems
	for _, part := range []string{"incident: the server reports of a subscription: ", "sub-7", "watch connection failed after 5 reconnection attempts"} {
		assert.ErrorContains(t, problem, part)
	}
	assert.Equal(t, []string{"resource-faults-payments"}, p.modes)
}

// reports leaves a good report at once.
func reports(_ context.Context, job incident.Job) error { return writeReport(job, goodReport) }

// roundTrip is a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that cannot be reached is asked again after pauses that double up to a minute, each shortened by up to a half.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		down := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route to host") })
		err := (&incident.Subscriber{Endpoint: "http://down.test/mcp", Client: &http.Client{Transport: down}, Sink: func(string, json.RawMessage) error { return nil },
			OnError: func(error) { asked = append(asked, time.Since(began)) }}).Run(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, len(asked), 10)
		pause := time.Second
		for i := range asked[1:] {
			took := asked[i+1] - asked[i]
			assert.True(t, pause/2 <= took && took <= pause, "pause %d of %v is %v", i, pause, took)
			pause = min(2*pause, time.Minute)
		}
	})
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

func TestSubscriberSettings(t *testing.T) {
	err := (&incident.Subscriber{Endpoint: "localhost:8080", Mode: "all"}).Run(context.Background())
	assert.EqualError(t, err, `incident: Endpoint is "localhost:8080"; allowed: an http or https URL`+"\n"+
		"incident: Sink is missing; allowed: a function\n"+`incident: Mode is "all"; allowed: faults|resource-faults`)
	for _, endpoint := range []string{"ftp://me:pass-1@host/mcp", "http://me:pass-1%zz@host"} {
		err := (&incident.Subscriber{Endpoint: endpoint, Sink: func(string, json.RawMessage) error { return nil }}).Check()
		assert.ErrorContains(t, err, "Endpoint is")
		assert.NotContains(t, err.Error(), "pass-1")
	}
}
