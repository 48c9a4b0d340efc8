package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

const answered = `{"order":7}`

// What the client gets of its call when a fault is injected into one message, and of the next call.
func TestWhatTheClientGets(t *testing.T) {
	received, sent := "mcp/receive/tools/call/echo", "mcp/send/tools/call/echo"
	silence := func(t *testing.T, err error) { assert.ErrorIs(t, err, context.DeadlineExceeded) }
	broken := func(t *testing.T, err error) {
		require.Error(t, err)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "it is told at once")
	}
	for _, tc := range []struct {
		why    string
		target string
		fault  chaos.Fault
		first  func(*testing.T, error) // nil: the answer
		gone   bool                    // the session, after that
	}{
		{"a lost response leaves the caller waiting", received, Drop(), silence, false},
		{"and so does a lost request", sent, Drop(), silence, false},
		{"a second response is nobody's", received, Duplicate(2), nil, false},
		{"a response with another id is nobody's", received, ChangeID(), silence, false},
		{"a request with another id gets an answer that is nobody's", sent, ChangeID(), silence, false},
		{"half a message ends the session", received, Corrupt(), broken, true},
		{"a line that is no message ends the session", received, InsertGarbage("Listening on port 8080"), broken, true},
		{"notifications beside the answer", received, FloodListChanged(10), nil, false},
		{"an error on the way is a broken connection", received, fault.Fail(errors.New("connection reset by peer")), broken, true},
		{"in both directions", sent, fault.Fail(io.ErrUnexpectedEOF), broken, true},
		{"a delay is a late answer", received, fault.Delay(time.Millisecond), nil, false},
		{"a late answer to nobody is let through", received, fault.Hang(), silence, false},
	} {
		t.Run(tc.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Target: tc.target, When: when.First(1), Fault: tc.fault})
				session := wired(t, desk(), newClient(nil), func(inner mcp.Transport) mcp.Transport {
					return Transport(inner, &Options{Injector: in})
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				text, err := call(ctx, session, "echo")
				if tc.first == nil {
					require.NoError(t, err)
					assert.Equal(t, answered, text)
				} else {
					tc.first(t, err)
				}
				synctest.Wait()
				text, err = call(t.Context(), session, "other")
				if tc.gone {
					assert.ErrorIs(t, err, mcp.ErrConnectionClosed)
				} else {
					require.NoError(t, err)
					assert.Equal(t, "other", text)
				}
				events := in.Events()
				require.Len(t, events, 1)
				assert.True(t, events[0].Delivered, "%+v", events[0])
				assert.Equal(t, tc.target, events[0].Target)
				_ = session.Close() // whatever closing a broken connection says
			})
		})
	}
}

// A server that reads a request twice runs it twice, or refuses the second for
// its id. Which of the two answers comes first is the server's affair.
func TestADuplicatedRequest(t *testing.T) {
	for _, f := range []chaos.Fault{Duplicate(1), fault.Duplicate()} {
		synctest.Test(t, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Target: "mcp/send/tools/call/echo", Fault: f})
			answers := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
			session := wired(t, desk(), newClient(nil), func(inner mcp.Transport) mcp.Transport {
				return Transport(Transport(inner, &Options{Injector: answers}), &Options{Injector: in})
			})
			_, err := call(t.Context(), session, "echo")
			if err != nil {
				assert.ErrorContains(t, err, "already in use")
			}
			synctest.Wait()
			require.NoError(t, session.Close())
			require.Len(t, in.Events(), 1)
			assert.True(t, in.Events()[0].Delivered)
			sent := 0
			for _, e := range answers.Events() {
				if e.Target == "mcp/send/tools/call/echo" {
					sent++
				}
			}
			assert.Equal(t, 2, sent, "requests that went out")
		})
	}
}

func TestAFloodArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got atomic.Int32
		in := injectorOf(t, chaos.Rule{Target: "mcp/receive/tools/call/echo", Fault: FloodListChanged(25)})
		client := newClient(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { got.Add(1) }})
		session := wired(t, desk(), client, func(inner mcp.Transport) mcp.Transport { return Transport(inner, &Options{Injector: in}) })
		_, err := call(t.Context(), session, "echo")
		require.NoError(t, err)
		synctest.Wait()
		assert.EqualValues(t, 25, got.Load())
		require.NoError(t, session.Close())
	})
}

// Faults that could do nothing are not delivered, and say why.
func TestUndelivered(t *testing.T) {
	for _, f := range []chaos.Fault{InsertGarbage("oops"), Corrupt()} {
		in := injectorOf(t, chaos.Rule{Target: "mcp/send/tools/call/*", Fault: f})
		session := wired(t, desk(), newClient(nil), func(inner mcp.Transport) mcp.Transport { return Transport(inner, &Options{Injector: in}) })
		_, err := call(t.Context(), session, "echo")
		require.NoError(t, err)
		events := in.Events()
		require.Len(t, events, 1)
		assert.False(t, events[0].Delivered)
		assert.Contains(t, events[0].Note, "wrap the end that reads")
	}
}

// The injector of a call is that of its response too; another caller's is not.
func TestTheCallersInjectorDecides(t *testing.T) {
	session := wired(t, desk(), newClient(nil), func(inner mcp.Transport) mcp.Transport { return Transport(inner, nil) })
	in := injectorOf(t, chaos.Rule{Target: "mcp/receive/*", Fault: FloodListChanged(1)})
	_, err := call(chaos.NewContext(t.Context(), in), session, "echo")
	require.NoError(t, err)
	_, err = call(t.Context(), session, "echo")
	require.NoError(t, err)
	require.Len(t, in.Events(), 1)
	in.Close()
	_, err = call(chaos.NewContext(t.Context(), in), session, "echo")
	assert.ErrorIs(t, err, chaos.ErrCellEnded)
	_, err = call(t.Context(), session, "echo")
	assert.NoError(t, err, "refusing one call leaves the connection to others")
}

func TestALongLineIsShownInPart(t *testing.T) {
	doc := shown([]string{strings.Repeat("é", 400), "b", "c", "d", "e"})
	assert.Less(t, len(doc), 1000)
	assert.Contains(t, string(doc), "…")
}

// answering is the rest of a program behind the middleware.
func answering(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }

func TestInertMiddlewareAllocatesNothing(t *testing.T) {
	handler := Sending(nil)(answering)
	ctx := t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = handler(ctx, "tools/call", nil) }))
}

// hole is a connection that discards what is written to it.
type hole struct{ mcp.Connection }

func (hole) Write(context.Context, jsonrpc.Message) error { return nil }

type toHole struct{}

func (toHole) Connect(context.Context) (mcp.Connection, error) { return hole{}, nil }

func BenchmarkTransport(b *testing.B) {
	msg, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 1000) + `"}}}`))
	require.NoError(b, err)
	for name, ctx := range map[string]context.Context{
		"no injector":       b.Context(),
		"an idle injector":  chaos.NewContext(b.Context(), chaos.NewInjector(1, nil)),
		"a recording one":   chaos.NewContext(b.Context(), chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})),
		"a fault that adds": chaos.NewContext(b.Context(), injectorOf(b, chaos.Rule{Target: "mcp/send/*", Fault: FloodListChanged(1)})),
	} {
		b.Run(name, func(b *testing.B) {
			conn, err := Transport(toHole{}, nil).Connect(b.Context())
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Write(ctx, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Whatever a message holds, a fault that edits it leaves it as it is, or makes JSON.
func FuzzEditedMessages(f *testing.F) {
	for _, text := range []string{`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":null,"result":7}`, `{"id":1,"error":{"code":1}}`, `[1]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := ChangeID().Inject(t.Context(), chaos.Call{}, Message{}, func(context.Context, any) (any, error) {
			return []string{text}, nil
		})
		require.NoError(t, err)
		lines := out.([]string)
		require.Len(t, lines, 1)
		assert.True(t, lines[0] == text || json.Valid([]byte(lines[0])), lines[0])
		placeOf("tools/call", []byte(text))
	})
}
