package mcpadapter

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

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

// loading is one client: a connection, and sessions that take turns.
type loading struct {
	t        testing.TB
	url      string
	client   *http.Client
	sessions []string
}

func (l *loading) send(method, session, body string) *http.Response {
	req, err := http.NewRequest(method, l.url, strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := l.client.Do(req)
	if err != nil {
		l.t.Error(err)
		return nil
	}
	return res
}

// text is the whole answer.
func (l *loading) text(method, session, body string) (answer string, res *http.Response) {
	if res = l.send(method, session, body); res == nil {
		return "", &http.Response{Header: http.Header{}}
	}
	all, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Error(err)
	}
	_ = res.Body.Close()
	return string(all), res
}

func (l *loading) open(sessions int) {
	for range sessions {
		answer, res := l.text(http.MethodPost, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)
		id := res.Header.Get("Mcp-Session-Id")
		if id == "" {
			l.t.Errorf("no session: %s", answer)
			return
		}
		l.text(http.MethodPost, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		l.sessions = append(l.sessions, id)
	}
}

// calls looks and writes by turns.
func (l *loading) calls(n int) (fine int) {
	for i := range n {
		call := `"chaos_status","arguments":{}`
		if i%4 == 3 {
			call = `"chaos_inject_fault","arguments":{"fault_name":"f","action":"remove"}`
		}
		answer, _ := l.text(http.MethodPost, l.sessions[i%len(l.sessions)], fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s}}`, i+1, call))
		if strings.Contains(answer, `"structuredContent"`) && !strings.Contains(answer, `"isError":true`) {
			fine++
		} else if fine == i {
			l.t.Errorf("call %d: %s", i, answer) // the first that fails is enough
		}
	}
	return fine
}

func (l *loading) close() {
	for _, id := range l.sessions {
		l.text(http.MethodDelete, id, "")
	}
	l.client.CloseIdleConnections()
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
	srv, address := serving(t, Options{Audit: audit, Limits: Limits{Connections: 2 * clients, AddressConnections: 2 * clients},
		Policy: &policy.Options{MaxSessions: sessions + 1, MaxCallerSessions: sessions + 1}})
	load := func(clients, calls, sessions int) (fine int64) {
		var done sync.WaitGroup
		var all atomic.Int64
		for i := range clients {
			done.Go(func() {
				l := &loading{t: t, url: "http://" + address + "/mcp", client: &http.Client{Transport: &http.Transport{}}}
				l.open((sessions + clients - 1 - i) / clients)
				all.Add(int64(l.calls(calls)))
				l.close()
			})
		}
		done.Wait()
		return all.Load()
	}
	// rest waits until goroutines that are ending have ended, and returns how many stay.
	rest := func(enough int) (staying int, heap uint64) {
		for held := 1; held > 0 || len(collect(srv)) > 0; {
			runtime.Gosched()
			held, _ = srv.gate.Held()
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
	load(clients, 20, clients) // what is made once
	goroutines, heap := rest(math.MaxInt)
	counted := audit.completed.Load()
	began := time.Now()
	assert.EqualValues(t, clients*calls, load(clients, calls, sessions))
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
