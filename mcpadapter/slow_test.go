package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

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
