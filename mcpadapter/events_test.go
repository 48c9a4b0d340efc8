//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// heard is a client that keeps the log messages it receives.
type heard struct {
	*mcp.ClientSession
	messages chan *mcp.LoggingMessageParams
}

// legacy opens a session in memory to which messages can be pushed.
func legacy(t testing.TB, s *Server, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return inMemory(t, s, o, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
}

func listenerOf(t testing.TB, s *Server) *heard {
	t.Helper()
	h := &heard{messages: make(chan *mcp.LoggingMessageParams, 10_000)}
	h.ClientSession = legacy(t, s, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
		h.messages <- r.Params
	}})
	require.NoError(t, h.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}))
	return h
}

// next is the next message, its data read into v.
func (h *heard) next(t testing.TB, v any) (logger string, level mcp.LoggingLevel) {
	t.Helper()
	m := <-h.messages
	text, err := json.Marshal(m.Data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, v))
	return m.Logger, m.Level
}

func (h *heard) subscribe(t testing.TB, args string) faulthub.Subscription {
	t.Helper()
	return answer[faulthub.Subscription](t, h.ClientSession, "events_subscribe", args)
}

// breakdown arms faults for every call: orders.get fails, payments.refund is slow.
func breakdown(t testing.TB, s *shop) {
	t.Helper()
	require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "down", Target: "orders.*", Fault: fault.Fail(fault.ErrUnavailable)}))
	require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "slow", Target: "payments.*", Fault: fault.Delay(time.Millisecond)}))
}

func TestSubscribersAreToldOfFaults(t *testing.T) {
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	c := listenerOf(t, srv)
	nested := c.subscribe(t, `{}`)
	flat := c.subscribe(t, `{"mode":"resource-faults"}`)
	assert.Equal(t, "chaos/faults", nested.Logger)
	assert.Equal(t, "chaos/resource-faults", flat.Logger)
	breakdown(t, s)
	began := time.Now().UTC()
	_, err := s.lookup(t.Context(), "1042")
	require.ErrorIs(t, err, fault.ErrUnavailable)

	var n faultevent.Payload
	logger, level := c.next(t, &n)
	assert.Equal(t, "chaos/faults", logger)
	assert.EqualValues(t, "error", level)
	assert.Equal(t, nested.SubscriptionID, n.SubscriptionID)
	assert.Equal(t, "order desk", n.Cluster)
	assert.Equal(t, faultevent.Resource{Kind: "Point", Name: "orders.get", Namespace: "orders"}, n.Event.InvolvedObject)
	assert.WithinDuration(t, began, must(time.Parse(time.RFC3339, n.Event.Timestamp)), time.Minute)
	var f faultevent.Payload
	logger, _ = c.next(t, &f)
	assert.Equal(t, "chaos/resource-faults", logger)
	assert.Equal(t, "error", f.FaultType)
	assert.Equal(t, flat.SubscriptionID, f.SubscriptionID)
	assert.Equal(t, n.Event.InvolvedObject, *f.Resource)

	list := answer[listSubscriptionsOutput](t, c.ClientSession, "events_list_subscriptions", `{}`)
	require.Len(t, list.Subscriptions, 2)
	assert.EqualValues(t, 1, list.Subscriptions[0].Delivered)
	assert.Equal(t, 2, list.ServerTotal)
}

func TestFiltersNarrowASubscription(t *testing.T) {
	for filter, want := range map[string]string{
		`{}`:                         "orders.get payments.refund end.of",
		`{"target":"{orders,x}.*"}`:  "orders.get end.of",
		`{"minSeverity":"error"}`:    "orders.get end.of",
		`{"minSeverity":"warning"}`:  "orders.get payments.refund end.of",
		`{"minSeverity":"critical"}`: "end.of",
	} {
		t.Run(filter, func(t *testing.T) {
			s := newShop(t)
			c := listenerOf(t, serverOf(t, s.host, nil))
			c.subscribe(t, filter)
			c.subscribe(t, `{"target":"end.*"}`)
			breakdown(t, s)
			require.NoError(t, s.host.Injector.Register(chaos.Rule{Name: "end", Target: "end.of", Fault: fault.Panic("over")}))
			_, _ = s.lookup(t.Context(), "1042")
			_, _ = s.refund(t.Context(), "1042")
			end := chaos.WrapWith("end.of", func(context.Context, int) (int, error) { return 0, nil }, &chaos.WrapOptions[int]{Injector: s.host.Injector})
			assert.Panics(t, func() { _, _ = end(t.Context(), 1) })
			var got []string
			for !slices.Contains(got, "end.of") {
				var n faultevent.Payload
				c.next(t, &n)
				got = append(got, n.Event.InvolvedObject.Name)
			}
			assert.Equal(t, want, strings.Join(got, " "))
		})
	}
}

func TestSubscriptionsEnd(t *testing.T) {
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	one, other := listenerOf(t, srv), listenerOf(t, srv)
	first := one.subscribe(t, `{}`)
	assert.False(t, answer[unsubscribeOutput](t, other.ClientSession, "events_unsubscribe", fmt.Sprintf(`{"subscriptionId":%q}`, first.SubscriptionID)).Removed,
		"a subscription is its session's own")
	for _, want := range []bool{true, false} {
		assert.Equal(t, want, answer[unsubscribeOutput](t, one.ClientSession, "events_unsubscribe", fmt.Sprintf(`{"subscriptionId":%q}`, first.SubscriptionID)).Removed,
			"a second time changes nothing")
	}
	other.subscribe(t, `{}`)
	require.NoError(t, other.Close())
	assert.Eventually(t, func() bool {
		return answer[listSubscriptionsOutput](t, one.ClientSession, "events_list_subscriptions", `{}`).ServerTotal == 0
	}, 20*time.Second, time.Millisecond, "with the session")
}

func TestLimitsOfSubscriptions(t *testing.T) {
	srv := serverOf(t, newShop(t).host, &Options{Limits: Limits{CallerSubscriptions: faulthub.ServerLimit}})
	var sessions []*heard
	for range faulthub.ServerLimit / faulthub.SessionLimit {
		c := listenerOf(t, srv)
		sessions = append(sessions, c)
		for range faulthub.SessionLimit {
			c.subscribe(t, `{}`)
		}
		p := refusal(t, c.ClientSession, "events_subscribe", `{}`)
		assert.Equal(t, 429, p.Status)
	}
	p := refusal(t, listenerOf(t, srv).ClientSession, "events_subscribe", `{}`)
	assert.Equal(t, "the server has 100 subscriptions, the most there may be", p.Detail)
	list := answer[listSubscriptionsOutput](t, sessions[0].ClientSession, "events_list_subscriptions", `{}`)
	assert.Len(t, list.Subscriptions, 10, "the session's own")
	assert.Equal(t, 100, list.ServerTotal)
}

func TestBadSubscriptions(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	c := listenerOf(t, srv)
	for args, want := range map[string]string{
		`{"mode":"all"}`:           "faults",
		`{"target":"{a"}`:          "target: ",
		`{"minSeverity":"loud"}`:   "critical",
		`{"trget":"x"}`:            "did you mean target",
		`{"mode":7}`:               "mode",
		`{"target":["a"]}`:         "target",
		`{"mode":"faults","x":{}}`: "x",
	} {
		p := refusal(t, c.ClientSession, "events_subscribe", args)
		assert.Equal(t, 400, p.Status, args)
		assert.Contains(t, p.Detail+p.Hint, want, args)
	}
	base, client := listen(t, srv)
	p := refusal(t, connect(t, eras(base, client)["without sessions"], nil), "events_subscribe", `{}`)
	assert.Equal(t, codeStateless, p.Code, "nothing can be pushed where there is no session")
	assert.Contains(t, p.Hint, uriFaults)
}

func readFaults(t *testing.T, c *mcp.ClientSession) (doc faulthub.Document) {
	t.Helper()
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriFaults})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(res.Contents[0].Text), &doc))
	return doc
}

// A client of any era can follow the faults as a resource; one without a session keeps a stream open for it.
func TestTheResourceOfFaults(t *testing.T) {
	for name := range eras("", nil) {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			base, client := listen(t, serverOf(t, s.host, nil))
			updated := make(chan string, 100)
			c := connect(t, eras(base, client)[name], &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
				updated <- r.Params.URI
			}})
			assert.Equal(t, faulthub.Document{Last: "0", Faults: []faulthub.Numbered{}}, readFaults(t, c), "nothing was delivered yet")
			require.NoError(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriFaults}))
			if name != "without sessions" {
				assert.Error(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriCatalogue}), "what does not say when it changes")
			}
			breakdown(t, s)
			_, err := s.lookup(t.Context(), "1042")
			require.Error(t, err)
			assert.Equal(t, uriFaults, <-updated)
			doc := readFaults(t, c)
			require.Len(t, doc.Faults, 1)
			assert.Equal(t, "1", doc.Faults[0].Sequence)
			assert.Equal(t, "orders.get", doc.Faults[0].Resource.Name)
			assert.Equal(t, "error", doc.Faults[0].FaultType)
			require.NoError(t, c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uriFaults}))
		})
	}
}

func TestTheResourceIsBounded(t *testing.T) {
	s := newShop(t)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	breakdown(t, s)
	for range 300 {
		_, err := s.lookup(t.Context(), "1042")
		require.Error(t, err)
	}
	var doc faulthub.Document
	for doc.Last != "300" {
		doc = readFaults(t, c)
	}
	assert.Len(t, doc.Faults, 256)
	assert.EqualValues(t, 44, doc.Omitted)
	assert.Equal(t, "45", doc.Faults[0].Sequence)
}

// wire is a client that reads only when the test asks it to. There is no buffer
// between: what the server sends stays with the server.
type wire struct{ mcp.Connection }

func wireOf(t *testing.T, s *Server) wire {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := s.mcp.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	conn, err := here.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	w := wire{conn}
	w.open(t)
	return w
}

// open makes the handshake, and asks for messages.
func (w wire) open(t *testing.T) {
	t.Helper()
	w.call(t, 1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}`)
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.call(t, 2, "logging/setLevel", `{"level":"info"}`)
}

func (w wire) send(t *testing.T, message string) {
	t.Helper()
	m, err := jsonrpc.DecodeMessage([]byte(message))
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), m))
}

// call sends a request and reads its answer.
func (w wire) call(t *testing.T, id int, method, params string) {
	t.Helper()
	w.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	m, err := w.Read(t.Context())
	require.NoError(t, err)
	response, ok := m.(*jsonrpc.Response)
	require.True(t, ok, "%T", m)
	require.NoError(t, response.Error)
}

func (w wire) subscribe(t *testing.T) {
	w.call(t, 3, "tools/call", `{"name":"events_subscribe","arguments":{}}`)
}

// heard reads the next log message.
func (w wire) heard(t *testing.T) (p struct {
	Logger string
	Data   struct {
		Dropped  uint64
		Degraded bool
	}
}) {
	t.Helper()
	m, err := w.Read(t.Context())
	require.NoError(t, err)
	request, ok := m.(*jsonrpc.Request)
	require.True(t, ok, "%T", m)
	require.NoError(t, json.Unmarshal(request.Params, &p))
	return p
}

// One session does not read for a while. The other receives every event, no call
// under test waits, and the first then receives the number of events it missed.
func TestASlowReaderLosesEventsAndNobodyElse(t *testing.T) {
	const calls = 2000
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	slow, quick := wireOf(t, srv), listenerOf(t, srv)
	slow.subscribe(t)
	quick.subscribe(t, `{"mode":"resource-faults"}`)
	breakdown(t, s)
	for sent := range calls {
		_, err := s.lookup(t.Context(), "1042")
		require.Error(t, err)
		if sent%50 == 49 { // the quick one keeps up
			for range 50 {
				var f faultevent.Payload
				logger, _ := quick.next(t, &f)
				require.Equal(t, "chaos/resource-faults", logger)
			}
		}
	}
	assert.Zero(t, srv.hub.Dropped())
	var got, missed uint64
	for got+missed < calls {
		switch m := slow.heard(t); m.Logger {
		case "chaos/faults":
			got++
		case faulthub.LoggerProblem:
			assert.True(t, m.Data.Degraded)
			missed += m.Data.Dropped
		default:
			require.Fail(t, "another logger", m.Logger)
		}
	}
	assert.EqualValues(t, calls, got+missed, "nothing is lost that was not counted")
	assert.GreaterOrEqual(t, missed, uint64(calls-2*faulthub.QueueSize), "what did not fit the queue")
}

// The connection of a dead reader is open, and nothing is ever read from it.
func TestADeadReaderHoldsNobodyUp(t *testing.T) {
	s := newShop(t)
	srv, err := NewServer(s.host, &Options{Getenv: writable, Policy: &policy.Options{Audit: new(lines)}})
	require.NoError(t, err)
	dead := wireOf(t, srv)
	dead.subscribe(t)
	dead.call(t, 4, "resources/subscribe", `{"uri":"chaos://faults"}`)
	breakdown(t, s)
	for range 5000 {
		_, err := s.lookup(t.Context(), "1042")
		require.Error(t, err)
	}
	alive := listenerOf(t, srv)
	list := answer[listSubscriptionsOutput](t, alive.ClientSession, "events_list_subscriptions", `{}`)
	assert.Equal(t, 1, list.ServerTotal)
	require.NoError(t, dead.Close())
	assert.NoError(t, srv.Shutdown(context.Background()), "the server ends all the same")
}
