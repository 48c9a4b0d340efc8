//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package mcpadapter

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// Sessions that nobody uses end by themselves, and none that is used.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := serverOf(t, newShop(t).host, &Options{Limits: Limits{SessionTime: time.Minute}})
		web := chaoshttp.InProcess(srv.Handler())
		t.Cleanup(func() { require.NoError(t, web.Close()) })
		transport := &mcp.StreamableClientTransport{Endpoint: "http://localhost/mcp", DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: bearer{token, web}}}
		c := connect(t, func() (mcp.Transport, string) { return transport, "2025-11-25" }, nil)
		for range 3 {
			time.Sleep(59 * time.Second)
			answer[statusOutput](t, c, "chaos_status", `{}`)
		}
		time.Sleep(61 * time.Second)
		assert.Empty(t, collect(srv))
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "chaos_status"})
		assert.Error(t, err, "the session is gone")
	})
}

// fullLoad is the variable that has TestLoad run at its full size:
//
//	SHAKEDOWN_FULL_LOAD=1 go test -run '^TestLoad$' -v -timeout 30m ./mcpadapter
const fullLoad = "SHAKEDOWN_FULL_LOAD"

// counting counts the lines that are written to it, and keeps none.
type counting struct{ started, completed, other atomic.Int64 }

func (c *counting) Write(p []byte) (int, error) {
	switch {
	case bytes.Contains(p, []byte(`"event":"mcp.tool_call.started"`)):
		c.started.Add(1)
	case bytes.Contains(p, []byte(`"event":"mcp.tool_call.completed"`)):
		c.completed.Add(1)
	default:
		c.other.Add(1)
	}
	return len(p), nil
}

// load has clients call by turns in sessions of their own: it looks, and every fourth time
// it writes. It returns how many calls were answered well.
func load(t *testing.T, address string, clients, calls, sessions int) int64 {
	var done sync.WaitGroup
	var fine atomic.Int64
	for i := range clients {
		done.Go(func() {
			web := &http.Transport{}
			defer web.CloseIdleConnections()
			var held []*mcp.ClientSession
			for range (sessions + clients - 1 - i) / clients {
				c, err := mcp.NewClient(&mcp.Implementation{Name: "load", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: "http://" + address + "/mcp", HTTPClient: &http.Client{Transport: bearer{token, web}}, DisableStandaloneSSE: true,
				}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if !assert.NoError(t, err) {
					return
				}
				defer c.Close()
				held = append(held, c)
			}
			for n := range calls {
				params := &mcp.CallToolParams{Name: "chaos_status"}
				if n%4 == 3 {
					params = &mcp.CallToolParams{Name: "chaos_inject_fault", Arguments: map[string]any{"fault_name": "f", "action": "remove"}}
				}
				res, err := held[n%len(held)].CallTool(t.Context(), params)
				if !assert.NoError(t, err) || !assert.False(t, res.IsError) {
					return
				}
				fine.Add(1)
			}
		})
	}
	done.Wait()
	return fine.Load()
}

// A load of clients, calls and sessions leaves the goroutines and the memory of
// its beginning. The full size is a thousand sessions and 64 clients with 10^4
// calls each.
func TestLoad(t *testing.T) {
	clients, calls, sessions := 8, 50, 40
	if os.Getenv(fullLoad) != "" {
		clients, calls, sessions = 64, 10_000, 1000
	}
	audit := new(counting)
	srv, address := serving(t, Options{Limits: Limits{Connections: 8 * clients, AddressConnections: 8 * clients},
		Policy: &policy.Options{Audit: audit, MaxSessions: sessions + 1, MaxCallerSessions: sessions + 1}})
	// rest waits until goroutines that are ending have ended, and returns how many stay.
	rest := func(enough int) (staying int, heap uint64) {
		for len(collect(srv)) > 0 {
			runtime.Gosched()
		}
		// At rest the number stays: a single low one may be of a moment when something
		// that is always there has not begun yet.
		staying = runtime.NumGoroutine()
		for same, i := 0, 0; i < 1_000_000 && (same < 20_000 || staying > enough); i++ {
			runtime.Gosched()
			if now := runtime.NumGoroutine(); now != staying {
				staying, same = now, 0
			} else {
				same++
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return staying, m.HeapAlloc
	}
	load(t, address, clients, 20, clients) // what is made once
	goroutines, heap := rest(math.MaxInt)
	counted := audit.completed.Load()
	began := time.Now()
	assert.EqualValues(t, clients*calls, load(t, address, clients, calls, sessions))
	took := time.Since(began)
	after, heapAfter := rest(goroutines)
	assert.EqualValues(t, clients*calls, audit.completed.Load()-counted, "one line of its end for each call")
	assert.LessOrEqual(t, after, goroutines, "goroutines")
	const slack = 2 << 20 // of the runtime's own, whatever the load
	assert.Less(t, heapAfter, heap+slack, "bytes in use")
	require.Zero(t, audit.other.Load())
	t.Logf("%d clients, %d calls each, %d sessions in %v: %d goroutines and %d kB before, %d and %d kB after",
		clients, calls, sessions, took.Round(time.Millisecond), goroutines, heap>>10, after, heapAfter>>10)
}

// A server over standard output ends with its context and by Shutdown, also
// while a client holds the pipe open and reads nothing.
func TestTheEndDoesNotWaitForADeadReader(t *testing.T) {
	for _, byShutdown := range []bool{true, false} {
		s := newShop(t)
		srv, err := NewServer(s.host, &Options{Getenv: writable, Policy: &policy.Options{Audit: new(lines)}})
		require.NoError(t, err)
		in, typed := io.Pipe()
		printed, out := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- srv.serveTransport(ctx, srv.stdio(in, out)) }()
		client := &mcp.IOTransport{Reader: printed, Writer: typed}
		conn, err := client.Connect(t.Context())
		require.NoError(t, err)
		dead := wire{conn}
		dead.open(t)
		dead.subscribe(t)
		breakdown(t, s)
		for range 1000 {
			_, err := s.lookup(t.Context(), "1042")
			require.Error(t, err)
		}
		if byShutdown {
			assert.NoError(t, srv.Shutdown(t.Context()))
		} else {
			stop()
		}
		assert.NoError(t, <-ended)
		stop()
		require.NoError(t, srv.Shutdown(t.Context()))
		require.NoError(t, dead.Close()) // and what was being written ends
	}
}

// Sessions begin, subscribe and break while faults are injected.
func TestSessionsThatVanishLeaveNothingBehind(t *testing.T) {
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	base, client := listen(t, srv)
	breakdown(t, s)
	var striking sync.WaitGroup
	striking.Go(func() {
		for range 3000 {
			callFails(s)
		}
	})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var c *mcp.ClientSession
			if i%4 == 0 {
				c = connect(t, eras(base, client)["with sessions"], nil)
			} else {
				c = legacy(t, srv, nil)
			}
			_ = c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
			_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "events_subscribe"})
			_ = c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriFaults})
			_ = c.Close()
		})
	}
	wg.Wait()
	striking.Wait()
	last := listenerOf(t, srv)
	assert.Eventually(t, func() bool {
		return answer[listSubscriptionsOutput](t, last.ClientSession, "events_list_subscriptions", `{}`).ServerTotal == 0
	}, 20*time.Second, time.Millisecond, "with the sessions")
}
