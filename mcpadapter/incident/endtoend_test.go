package incident_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// reports leaves a good report at once.
func reports(_ context.Context, job incident.Job) error { return writeReport(job, goodReport) }

// TestARecordedSessionBecomesIncidents plays the notifications of a Kubernetes
// server through the whole of the runner.
func TestARecordedSessionBecomesIncidents(t *testing.T) {
	p := &player{plays: append(recorded(t), recorded(t)...)} // all of it twice
	ts := httptest.NewServer(p.handler(t))
	t.Cleanup(ts.Close)
	d := open(t, incident.AgentFunc(reports), func(o *incident.Options) { o.MaxAgents = 1 })
	t.Cleanup(d.stop)
	listen(t, &incident.Subscriber{Endpoint: ts.URL, Sink: d.Offer})
	var got []string
	for range 4 {
		in := <-d.ended
		assert.Equal(t, incident.StatusResolved, in.Status)
		assert.Equal(t, "prod", in.Cluster)
		got = append(got, in.Namespace+" "+in.Resource.Kind+"/"+in.Resource.Name+" "+in.FaultType+" "+in.Severity.String())
	}
	assert.Equal(t, []string{"payments Pod/worker-0 BackOff WARNING", "payments Pod/worker-0 CrashLoop CRITICAL",
		"kube-system Pod/coredns-5d78 FailedMount WARNING", " Node/node-3 NodeUnhealthy WARNING"}, got, "in order, each once")
	// A message counts as delivered once the notifier has returned, so after it was read here.
	require.EventuallyWithT(t, func(now *assert.CollectT) {
		assert.Equal(now, incident.Counts{Received: 8, Duplicate: 4, Resolved: 4, Notified: 4}, d.Counts())
	}, 20*time.Second, time.Millisecond)
}

const testToken = "a-token-for-the-test"

// target is a program under test: one tool, an injector, and an MCP server over
// loopback.
func target(t *testing.T) (url string, call func() error, in *chaos.Injector) {
	t.Helper()
	in = chaos.NewInjector(1, nil)
	tool := chaos.WrapWith("payments.refund", func(context.Context, int) (int, error) { return 1, nil }, &chaos.WrapOptions[int]{Injector: in})
	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "shop", Injector: in}, &mcpadapter.Options{
		Policy: &policy.Options{Audit: io.Discard}, Getenv: func(name string) string {
			return map[string]string{"SHAKEDOWN_MCP_TOKEN": testToken, "SHAKEDOWN_MCP_MODE": "read-write", "SHAKEDOWN_MCP_ENABLE_WRITE": "true"}[name]
		}})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := &http.Server{Handler: srv.Handler()}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		assert.NoError(t, srv.Shutdown(context.Background()))
		_ = web.Close()
		<-served
	})
	return "http://" + l.Addr().String() + "/mcp", func() error { _, err := tool(context.Background(), 1); return err }, in
}

// client is one whose connections are gone when the test ends.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// failUntil makes calls fail until the first incident has ended: the subscriber
// may not be connected yet at the first of them.
func failUntil(t *testing.T, d *desk, call func() error) incident.Incident {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case in := <-d.ended:
			return in
		case <-tick.C:
			require.ErrorIs(t, call(), fault.ErrUnavailable)
		}
	}
}

// TestAnInjectedFaultBecomesAnIncident goes all the way over HTTP: a client
// injects a fault, a call fails, and the runner gets the event.
func TestAnInjectedFaultBecomesAnIncident(t *testing.T) {
	url, call, in := target(t)
	d := open(t, incident.AgentFunc(reports), nil)
	t.Cleanup(d.stop)
	listen(t, &incident.Subscriber{Endpoint: url, Token: testToken, Mode: incident.ModeResourceFaults, Client: client(t), Sink: d.Offer})
	require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "payments.*", Fault: fault.Fail(fault.ErrUnavailable)}))
	got := failUntil(t, d, call)
	assert.Equal(t, incident.StatusResolved, got.Status)
	assert.Equal(t, "shop payments Point/payments.refund error ERROR", got.Cluster+" "+got.Namespace+" "+got.Resource.Kind+"/"+got.Resource.Name+" "+got.FaultType+" "+got.Severity.String())
	assert.NotEmpty(t, got.Context)
}

// A server that cannot push is an error.
func TestAServerWithoutEvents(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(ts.Close)
	problems := make(chan error, 10)
	listen(t, &incident.Subscriber{Endpoint: ts.URL, Client: client(t), OnError: func(err error) {
		select {
		case problems <- err:
		default:
		}
	}, Sink: func(string, json.RawMessage) error { return nil }})
	assert.ErrorContains(t, <-problems, "events_subscribe")
}
