package client

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Reconnector is a [Registry] that outlives its sessions. A call that finds
// its session closed fails, because its effect is not known; the next call
// connects anew. It is safe for concurrent use.
type Reconnector struct {
	connect func(ctx context.Context) (*mcp.ClientSession, error)
	turn    chan struct{} // taken while connecting

	mu      sync.Mutex
	current *link
	closed  bool
	links   sync.WaitGroup
}

// link is a session and the error of its end.
type link struct {
	session *mcp.ClientSession
	ended   chan struct{}
}

// Reconnecting returns a registry over the sessions that connect makes, the
// first of them at the first call. The context passed to connect is that of the
// call that needs the session, without its injector's faults and without its
// end: set a deadline. Close ends the last session.
func Reconnecting(connect func(ctx context.Context) (*mcp.ClientSession, error)) *Reconnector {
	return &Reconnector{connect: connect, turn: make(chan struct{}, 1)}
}

// Tools lists the tools: see [Registry].
func (r *Reconnector) Tools(ctx context.Context) ([]chaos.Tool, error) {
	session, err := r.session(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	tools, err := remote{session}.Tools(ctx)
	r.forget(session, err)
	return tools, err
}

// CallTool calls a tool: see [Registry].
func (r *Reconnector) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	session, err := r.session(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := remote{session}.CallTool(ctx, name, args)
	r.forget(session, err)
	return out, err
}

// Close closes the session and waits for its end; calls after that fail with a
// [*SessionError].
func (r *Reconnector) Close() error {
	r.mu.Lock()
	current := r.current
	r.current, r.closed = nil, true
	r.mu.Unlock()
	var err error
	if current != nil {
		err = current.session.Close()
	}
	r.links.Wait()
	return err
}

var errClosed = errors.New("the registry was closed")

// session returns the current session, or a new one. One caller connects, the
// others wait.
func (r *Reconnector) session(ctx context.Context, method string) (*mcp.ClientSession, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if session, err := r.inUse(method); session != nil || err != nil {
		return session, err
	}
	session, err := r.connect(chaos.NewContext(context.WithoutCancel(ctx), nil))
	if err != nil {
		return nil, lost(method, err)
	}
	return session, r.keep(session, method)
}

// inUse returns the session that still works, if any.
func (r *Reconnector) inUse(method string) (*mcp.ClientSession, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, lost(method, errClosed)
	}
	if r.current == nil {
		return nil, nil
	}
	select {
	case <-r.current.ended:
		r.current = nil
		return nil, nil
	default:
		return r.current.session, nil
	}
}

// keep watches a new session, so that its end is known before the next call.
func (r *Reconnector) keep(session *mcp.ClientSession, method string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(lost(method, errClosed), session.Close())
	}
	l := &link{session, make(chan struct{})}
	r.current = l
	r.links.Go(func() {
		_ = session.Wait() // its error is that of the calls
		close(l.ended)
	})
	return nil
}

// forget drops a session that a call found closed, and releases it.
func (r *Reconnector) forget(session *mcp.ClientSession, err error) {
	var end *SessionError
	if !errors.As(err, &end) || !end.Closed {
		return
	}
	r.mu.Lock()
	if r.current != nil && r.current.session == session {
		r.current = nil
	}
	r.mu.Unlock()
	_ = session.Close() // the call's own error says more
}
