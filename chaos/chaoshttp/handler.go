package chaoshttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Handler makes an injection point of next: real clients get the faults of its
// rules. A reset resets the TCP connection. An orderly close and a cut body
// close it, on HTTP/2 the stream. Faults of the way to the server (refused,
// DNS, TLS) cannot happen behind it: they are not delivered, and their events
// say why. Other errors close the connection without an answer.
//
// A call that no rule matches goes straight to next, which may take its
// connection over or send trailers. Its answer is not looked at, and counts as
// a success for [chaos.Event].Attempt. For all other calls, and all that are
// recorded, next runs in a goroutine of its own, which ends before ServeHTTP
// does. Its answer is passed on, streams included; it can neither hijack the
// connection nor send trailers.
//
// o may be nil. Bind an injector there, since the requests of a server carry
// none.
func Handler(next http.Handler, o *Options) http.Handler {
	return &handler{points: points{opts: *cmp.Or(o, &Options{})}, next: next}
}

type handler struct {
	points
	next    http.Handler
	buffers sync.Pool // of *[relayed]byte: an answer needs one while it is copied
}

const relayed = 32 << 10

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := h.injector(r.Context())
	if in == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	s, name := h.site(r)
	if !s.affected(in, name) {
		h.next.ServeHTTP(w, r)
		return
	}
	a, err := h.arrive(in, r, s, name, true)
	if err != nil {
		hangUp(w, err)
		return
	}
	if a.PassesThrough() {
		h.next.ServeHTTP(w, a.intact())
		a.passed(nil)
		return
	}
	if a.Err() != nil {
		if resp, err := a.refused(); err != nil {
			hangUp(w, err)
		} else {
			_ = h.relay(w, resp) // of memory
		}
		return
	}
	h.affected(w, &a)
}

func (h *handler) affected(w http.ResponseWriter, a *arrival) {
	inner := InProcess(h.next)
	ctx, cancel := context.WithCancel(a.ctx)
	defer inner.join() // also where a fault panics
	defer cancel()
	a.ctx = ctx
	x := &exchange{do: func(r *http.Request) (*http.Response, error) { return h.run(r, inner) }}
	resp, err := x.cross(a)
	if err == nil {
		err = h.relay(w, resp)
	}
	for _, p := range inner.join() {
		panic(p.value) // as next itself would have
	}
	if err != nil {
		hangUp(w, err) // the answer ended short
	}
}

// run lets the handler answer a request. A late request, whose call has been
// answered, gets a server of its own; its panics are dropped.
func (h *handler) run(r *http.Request, inner *Server) (*http.Response, error) {
	if err := inner.begin(r.Context()); errors.Is(err, errServerClosed) {
		late := InProcess(h.next)
		late.running++
		resp, err := late.serve(r, within)
		if err == nil {
			discard(resp)
		}
		late.join()
		return resp, err
	} else if err != nil {
		return nil, err
	}
	return inner.serve(r, within)
}

func within(r *http.Request, ctx context.Context) *http.Request { return r.WithContext(ctx) }

// relay copies an answer. It flushes if the length is not known, because the
// reader may wait for every piece.
func (h *handler) relay(w http.ResponseWriter, resp *http.Response) error {
	defer resp.Body.Close()
	header := w.Header()
	maps.Copy(header, resp.Header)
	w.WriteHeader(resp.StatusCode)
	out := http.NewResponseController(w)
	flush := resp.ContentLength < 0
	buf, _ := h.buffers.Get().(*[relayed]byte)
	if buf == nil {
		buf = new([relayed]byte)
	}
	defer h.buffers.Put(buf)
	for {
		if flush {
			_ = out.Flush() // one that cannot flush buffers
		}
		n, err := resp.Body.Read(buf[:])
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return nil // the client is gone, or wants no body
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			_ = out.Flush() // what came before the end reaches the client
			return err
		}
	}
}

// hangUp ends the connection in the way of the error.
func hangUp(w http.ResponseWriter, err error) {
	if errors.Is(err, syscall.ECONNRESET) && reset(w) {
		return
	}
	panic(http.ErrAbortHandler)
}

// reset makes the connection send an RST: with a linger time of 0 the kernel
// discards what is unsent. It reports whether the connection could be taken
// over.
func reset(w http.ResponseWriter) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else the close is an orderly one
	}
	conn.Close()
	return true
}
