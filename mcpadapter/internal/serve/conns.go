// Package serve has what stands between a server and its clients: bounds on what
// they may hold over HTTP, TLS, and a transport over standard input and output that
// outlives lines which are no messages.
package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Cap returns a listener that closes connections above all, and above each of one
// address, at once, to save the descriptors of the program under test.
func Cap(l net.Listener, all, each int) net.Listener {
	return &cappedListener{Listener: l, all: all, each: each, of: make(map[string]int)}
}

type cappedListener struct {
	net.Listener
	all, each int

	mu   sync.Mutex
	open int
	of   map[string]int // by address
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
		if !l.take(from) {
			_ = c.Close()
			continue
		}
		return &cappedConn{c, sync.OnceFunc(func() { l.give(from) })}, nil
	}
}

func (l *cappedListener) take(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.all || l.of[from] >= l.each {
		return false
	}
	l.open++
	l.of[from]++
	return true
}

func (l *cappedListener) give(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.of[from]--; l.of[from] == 0 {
		delete(l.of, from)
	}
}

type cappedConn struct {
	net.Conn
	give func()
}

func (c *cappedConn) Close() error {
	defer c.give()
	return c.Conn.Close()
}

// lastWriting is how long writing may go on after the end.
const lastWriting = time.Second

// Timed bounds reading a request by refusal, until a handler sets another time, and
// writing its answer by write. The end of life cuts writing short.
func Timed(life context.Context, next http.Handler, refusal, write time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		now := time.Now()
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(now.Add(refusal))
		}
		out := &endingWriter{ResponseWriter: w, control: control}
		_ = out.SetWriteDeadline(now.Add(write))
		stop := context.AfterFunc(life, out.cut)
		next.ServeHTTP(out, r)
		stop()
		_ = out.SetWriteDeadline(time.Now().Add(write)) // of what is still in the buffer
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
