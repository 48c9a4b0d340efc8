// Package wire is a network of one listener in memory. In a bubble of
// testing/synctest, where waiting on a real connection would stop the clock, clients
// and servers speak HTTP over it.
package wire

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// URL is where the listener is reached by [Listener.Client].
const URL = "http://in-memory.test/mcp"

// A Listener is one end. Make it with [Listen].
type Listener struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen opens a listener.
func Listen() *Listener {
	return &Listener{calls: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a client.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes the listener refuse clients.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is a name without a meaning.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "in-memory", Net: "unix"} }

// Client is a client whose requests all come here. Its idle connections have to
// be closed in the end.
func (l *Listener) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.dial}}
}

func (l *Listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.calls <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
