package chaoshttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Handler makes an injection point of next: the faults of its rules are
// answered to real clients. A reset is one of the TCP connection, an orderly
// close and a cut body close it, on HTTP/2 the stream. Faults of the way to
// the server (refused, DNS, TLS) cannot be had behind it and are not
// delivered, as their events say; other errors close the connection without an
// answer.
//
// A call that no rule strikes goes straight to next, which may take its
// connection over or send trailers; how it answers is not looked at, and counts
// as a success for [chaos.Event].Attempt. Others, and all that are recorded, run next in a
// goroutine of their own, which ends before ServeHTTP does, and pass on what
// it answers, streams included; there it can neither hijack the connection nor
// send trailers. o may be nil; bind an injector there, since the requests of a
// server carry none.
func Handler(next http.Handler, o *Options) http.Handler {
	h := &handler{next: next}
	if o != nil {
		h.opts = *o
	}
	return h
}

type handler struct {
	points
	next http.Handler
}

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
	if a.Calm() {
		h.next.ServeHTTP(w, a.intact())
		a.passed(nil, h.opts.MaxBody)
		return
	}
	if a.Err() != nil {
		if resp, err := a.refused(); err != nil {
			hangUp(w, err)
		} else {
			_ = relay(w, resp) // of memory
		}
		return
	}
	h.affected(w, &a)
}

// affected is a call that something happens to, or that is recorded.
func (h *handler) affected(w http.ResponseWriter, a *arrival) {
	inner := InProcess(h.next)
	ctx, cancel := context.WithCancel(a.ctx)
	defer inner.join() // also where a fault panics
	defer cancel()
	a.ctx = ctx
	err := h.answer(w, a, inner)
	for _, p := range inner.join() {
		panic(p.value) // as next itself would have
	}
	if err != nil {
		hangUp(w, err)
	}
}

// answer takes the call over its point and writes what comes of it. Its error
// is how the answer ended short.
func (h *handler) answer(w http.ResponseWriter, a *arrival, inner *Server) error {
	x := &exchange{do: func(r *http.Request) (*http.Response, error) { return h.run(r, inner) }}
	resp, err := x.cross(a, h.opts.MaxBody)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return relay(w, resp)
}

// run lets the handler answer a request. One that comes late, when its own call
// has been answered, is run on its own; a panic is then nobody's.
func (h *handler) run(r *http.Request, inner *Server) (*http.Response, error) {
	if err := inner.begin(r.Context()); errors.Is(err, errServerClosed) {
		late := InProcess(h.next)
		late.running.Add(1)
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

// within is a request as it was received, in another context.
func within(r *http.Request, ctx context.Context) *http.Request { return r.WithContext(ctx) }

// relay copies an answer, and flushes where its length is not known: then its
// reader may wait for every piece.
func relay(w http.ResponseWriter, resp *http.Response) error {
	header := w.Header()
	for name, values := range resp.Header {
		header[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	out := http.NewResponseController(w)
	flush := resp.ContentLength < 0
	buf := make([]byte, 32<<10)
	for {
		if flush {
			_ = out.Flush() // one that cannot flush buffers
		}
		n, err := resp.Body.Read(buf)
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

// hangUp ends the connection as the error says.
func hangUp(w http.ResponseWriter, err error) {
	if errors.Is(err, syscall.ECONNRESET) && reset(w) {
		return
	}
	panic(http.ErrAbortHandler)
}

// reset makes the connection send an RST: with a linger time of 0 the kernel
// throws away what is unsent. It reports whether there is one to be had.
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
