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

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
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
