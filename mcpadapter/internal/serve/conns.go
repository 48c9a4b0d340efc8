// Package serve has what stands between a server and its clients: bounds on what
// they may hold over HTTP, TLS, and a transport over standard input and output that
// outlives lines which are no messages.
package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Cap returns a listener that bounds connections, all of them and those of one
// address, to save the descriptors of the program under test. A few more are spare:
// on them [Brief] answers health checks alone. The rest are closed at once.
func Cap(l net.Listener, all, each int) net.Listener {
	return &cappedListener{Listener: l,
		usual: allowance{all: all, each: each, of: make(map[string]int)},
		spare: allowance{all: spareConns, each: spareConnsOf, of: make(map[string]int)}}
}

// Spare connections, in all and of one address.
const (
	spareConns   = 16
	spareConnsOf = 2
)

type cappedListener struct {
	net.Listener

	mu           sync.Mutex
	usual, spare allowance
}

// An allowance counts connections.
type allowance struct {
	all, each int
	open      int
	of        map[string]int // by address
}

// Accept waits for a connection that may stay.
func (l *cappedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := c.RemoteAddr().String()
		if host, _, err := net.SplitHostPort(from); err == nil {
			from = host
		}
		if a := l.take(from); a != nil {
			return &cappedConn{c, a == &l.spare, sync.OnceFunc(func() { l.give(a, from) })}, nil
		}
		_ = c.Close()
	}
}

func (l *cappedListener) take(from string) *allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range []*allowance{&l.usual, &l.spare} {
		if a.open < a.all && a.of[from] < a.each {
			a.open++
			a.of[from]++
			return a
		}
	}
	return nil
}

func (l *cappedListener) give(a *allowance, from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.open--
	if a.of[from]--; a.of[from] == 0 {
		delete(a.of, from)
	}
}

type cappedConn struct {
	net.Conn
	spare bool
	give  func()
}

func (c *cappedConn) Close() error {
	defer c.give()
	return c.Conn.Close()
}

type spareKey struct{}

// markSpare is for http.Server.ConnContext.
func markSpare(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	capped, ok := c.(*cappedConn)
	return context.WithValue(ctx, spareKey{}, ok && capped.spare)
}

// Brief closes each connection after its answer, unless a handler within calls
// [Keep]: who was not admitted must not hold connections. On a spare connection it
// answers requests for the paths alone.
func Brief(next http.Handler, paths ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if spare, _ := r.Context().Value(spareKey{}).(bool); spare && !slices.Contains(paths, r.URL.Path) {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "too many connections", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Keep lets the connection of a request stay open, for those that were admitted.
func Keep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("Connection")
		next.ServeHTTP(w, r)
	})
}

// lastWriting is how long writing may go on after the end.
const lastWriting = time.Second

// Timed bounds reading a request by a second of the patience, until a handler sets
// another time, and writing its answer by all of it. The end of life cuts writing short.
func Timed(life context.Context, next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		now := time.Now()
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(now.Add(min(time.Second, patience)))
		}
		out := &endingWriter{ResponseWriter: w, control: control}
		_ = out.SetWriteDeadline(now.Add(patience))
		stop := context.AfterFunc(life, out.cut)
		next.ServeHTTP(out, r)
		stop()
		_ = out.SetWriteDeadline(time.Now().Add(patience)) // of what is still in the buffer
	})
}

// An endingWriter fails writes after a time, once that is set.
type endingWriter struct {
	http.ResponseWriter
	control *http.ResponseController

	mu  sync.Mutex
	end time.Time // zero: not set yet
}

// Unwrap is for http.ResponseController, whose calls for deadlines come here.
func (w *endingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetWriteDeadline sets the deadline, or the end's if that is earlier.
func (w *endingWriter) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.end.IsZero() && (t.IsZero() || t.After(w.end)) {
		t = w.end
	}
	return w.control.SetWriteDeadline(t)
}

func (w *endingWriter) cut() {
	w.mu.Lock()
	w.end = time.Now().Add(lastWriting)
	w.mu.Unlock()
	_ = w.SetWriteDeadline(time.Time{})
}
