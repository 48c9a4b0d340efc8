package chaoshttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// A Server runs a handler in the same process: a request to its RoundTrip
// reaches the handler without a socket. So waits and streams can run in a
// bubble of testing/synctest, where hours take no time. Make one with
// [InProcess]. It is safe for concurrent use.
//
// The client sees what it would see of a server on a connection of its own:
//
//   - The header comes with the first flush, with 2 KiB, or at the handler's end.
//   - The body can be read while the handler runs. The handler is held up once 64
//     KiB are unread.
//   - A panic cuts the answer off. A Content-Length that is not filled is an
//     unexpected end.
//   - The handler's context ends with the request's, and when the client closes the
//     body early. It carries the request's values, so wrapped functions in the
//     handler find the injector.
//   - There is no hijacking, no trailers and no informational answers, and nothing
//     is compressed.
//
// Requests may come from several bubbles. Close it where its requests come from, or after
// them: a handler of one bubble cannot wake a Close that waits in another.
type Server struct {
	handler http.Handler

	mu       sync.Mutex
	closed   bool
	panicked []panicked
	running  int        // handlers; no WaitGroup, which would belong to one bubble
	ended    *sync.Cond // one of them has
}

type panicked struct {
	value any
	stack []byte
}

// InProcess makes a server of a handler.
func InProcess(h http.Handler) *Server {
	s := &Server{handler: h}
	s.ended = sync.NewCond(&s.mu)
	return s
}

var (
	errServerClosed   = errors.New("http: Server closed")
	errNoURL          = errors.New("http: nil Request.URL") // as net/http has it
	errReadAfterClose = errors.New("http: read on closed response body")
)

// RoundTrip runs the handler in a goroutine of its own, which ends before
// [Server.Close] returns.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	err := errNoURL
	if r.URL != nil {
		err = s.begin(r.Context())
	}
	if err != nil && r.Body != nil {
		r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	resp, err := s.serve(r, received)
	if err == nil { // a handler removes a header by setting it to nil
		maps.DeleteFunc(resp.Header, func(_ string, values []string) bool { return len(values) == 0 })
	}
	return resp, err
}

// serve runs the handler on the request that as makes of r.
func (s *Server) serve(r *http.Request,
	as func(r *http.Request, ctx context.Context) *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	w := newWriter(r.Method == http.MethodHead)
	go s.run(w, as(r, ctx), cancel)
	// The header, or the end of the client's context, whichever comes first.
	select {
	case <-w.ready:
	case <-r.Context().Done():
	}
	if gone := ended(r.Context()); gone != nil {
		cancel()
		w.body.finish(gone, true)
		return nil, gone
	}
	if w.failed != nil {
		return nil, w.failed
	}
	resp := w.response(r)
	stop := context.AfterFunc(r.Context(), func() { w.body.finish(context.Cause(r.Context()), true) })
	resp.Body = &servedBody{pipe: w.body, ctx: r.Context(), cancel: func() { stop(); cancel() }}
	return resp, nil
}

// ended returns why a client has gone; nil: it has not. If an answer and a
// deadline come at one instant, which is usual in a bubble, the deadline
// counts, whichever timer was first.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok && ctx.Done() != nil && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *Server) begin(ctx context.Context) error {
	if gone := ended(ctx); gone != nil {
		return gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errServerClosed
	}
	s.running++
	return nil
}

func (s *Server) run(w *writer, r *http.Request, cancel context.CancelFunc) {
	returned := false
	defer func() {
		p := recover() // nil besides: the handler ended its goroutine, or returned
		w.finish(returned)
		cancel()
		if r.Body != nil { // nil: made by hand, for the handler alone
			r.Body.Close()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !returned && p != nil && p != http.ErrAbortHandler {
			s.panicked = append(s.panicked, panicked{p, debug.Stack()})
		}
		s.running--
		s.ended.Broadcast()
	}()
	s.handler.ServeHTTP(w, r)
	returned = true
}

// Close waits for the running handlers, and refuses later requests. Handlers
// whose clients read slowly or not at all end when their contexts do, so cancel
// those first. It returns the panics of handlers, joined, other than
// [http.ErrAbortHandler].
func (s *Server) Close() error {
	var errs []error
	for _, p := range s.join() {
		errs = append(errs, fmt.Errorf("chaoshttp: the handler panicked: %v\n%s", p.value, p.stack))
	}
	return errors.Join(errs...)
}

func (s *Server) join() []panicked {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.running > 0 {
		s.ended.Wait()
	}
	return s.panicked
}

// received is a client's request as a server sees it.
func received(r *http.Request, ctx context.Context) *http.Request {
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.URL.Scheme, in.URL.Host, in.URL.User, in.URL.Fragment = "", "", nil, ""
	in.Host = cmp.Or(in.Host, r.URL.Host)
	in.Method = cmp.Or(in.Method, http.MethodGet)
	if in.Header == nil {
		in.Header = http.Header{}
	}
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RemoteAddr, in.Close, in.GetBody = "127.0.0.1:51234", false, nil
	if r.URL.Scheme == "https" {
		in.TLS = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: r.URL.Hostname()}
	}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		in.Body, in.ContentLength = http.NoBody, 0
	case r.ContentLength == 0: // a client that does not know
		in.ContentLength = -1
	}
	if in.ContentLength < 0 {
		in.TransferEncoding = []string{"chunked"}
	}
	return in
}

type servedBody struct {
	*pipe
	ctx    context.Context // of the client
	cancel func()
}

// Read returns the error of a client that has gone, even if everything was
// sent.
func (b *servedBody) Read(p []byte) (int, error) {
	n, err := b.pipe.Read(p)
	if err != nil {
		if gone := ended(b.ctx); gone != nil && !errors.Is(err, errReadAfterClose) {
			err = gone
		}
	}
	return n, err
}

// Close gives up the rest.
func (b *servedBody) Close() error {
	b.finish(errReadAfterClose, true)
	b.cancel()
	return nil
}

// writer is the response writer of a [Server]'s handler. Only the handler's
// goroutine uses it, up to the channel ready.
type writer struct {
	header  http.Header
	code    int // 0: not written
	head    bool
	pending []byte        // written before the header was sent
	ready   chan struct{} // closed when the header was sent, or failed is set
	isSent  bool
	failed  error // the answer of a handler that ended without one
	sent    http.Header
	length  int64 // declared; -1: none was
	written int64
	body    *pipe
}

// headerRoom is how much of a body waits for its header, as in net/http.
const headerRoom = 2048

func newWriter(head bool) *writer {
	p := &pipe{}
	p.moved = sync.NewCond(&p.mu)
	return &writer{header: http.Header{}, head: head, ready: make(chan struct{}), length: -1, body: p}
}

// Header is the answer's header, to be changed before it is written.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader sets the status, once; an informational one is ignored.
func (w *writer) WriteHeader(code int) {
	if w.code != 0 || code < http.StatusOK && code != http.StatusSwitchingProtocols {
		return
	}
	w.code = code
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
	w.sent = w.header.Clone()
}

// Write writes to the body, within its declared length.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case len(b) == 0:
		return 0, nil
	case !bodyAllowed(w.code):
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += int64(len(b)); w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength // the answer stays short: refused bytes count, as in net/http
	}
	if w.isSent {
		return w.put(b)
	}
	if w.pending = append(w.pending, b...); len(w.pending) > headerRoom {
		return len(b), w.FlushError()
	}
	return len(b), nil
}

// put is Write after the header.
func (w *writer) put(b []byte) (int, error) {
	if w.head {
		return len(b), nil
	}
	return w.body.Write(b)
}

// Flush sends what was written.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is Flush, as http.ResponseController asks for it.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if !w.isSent {
		w.send(w.length)
	}
	_, err := w.put(w.pending)
	w.pending = nil
	return err
}

// EnableFullDuplex does nothing: it is always enabled.
func (w *writer) EnableFullDuplex() error { return nil }

// send passes the header to the client. Later changes of it are not seen.
func (w *writer) send(length int64) {
	if _, set := w.sent["Content-Type"]; !set && len(w.pending) > 0 && w.sent.Get("Content-Encoding") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(w.pending))
	}
	if _, set := w.sent["Date"]; !set {
		w.sent.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	if w.length = length; length >= 0 && w.sent.Get("Content-Length") == "" && bodyAllowed(w.code) {
		w.sent.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	w.isSent = true
	close(w.ready)
}

func (w *writer) finish(orderly bool) {
	short := !orderly
	if orderly {
		w.WriteHeader(http.StatusOK)
		declared := w.length
		if !w.isSent {
			if declared < 0 && (!w.head || len(w.pending) > 0) {
				declared = int64(len(w.pending))
			}
			w.send(declared)
		}
		_ = w.FlushError()
		short = declared >= 0 && declared != w.written && bodyAllowed(w.code)
	} else if !w.isSent {
		w.failed = io.EOF // the connection closes without an answer
		close(w.ready)
	}
	if short && !w.head {
		w.body.finish(io.ErrUnexpectedEOF, false)
	}
	w.body.finish(io.EOF, false)
}

func (w *writer) response(r *http.Request) *http.Response {
	resp := &http.Response{
		Status: strconv.Itoa(w.code) + " " + http.StatusText(w.code), StatusCode: w.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, ContentLength: w.length, Request: r,
	}
	switch {
	case !bodyAllowed(w.code) && !w.head:
		resp.ContentLength = 0
	case w.length < 0 && !w.head:
		resp.TransferEncoding = []string{"chunked"}
	}
	return resp
}

// bodyAllowed is the rule of RFC 9110, section 6.4.1.
func bodyAllowed(code int) bool {
	return code >= http.StatusOK && code != http.StatusNoContent && code != http.StatusNotModified
}

// pipe carries a body from a handler to its reader, with room for what the
// buffers of a connection would hold. A client that is a little behind does not
// hold up the handler; a client that does not read does.
type pipe struct {
	mu    sync.Mutex
	moved *sync.Cond // something was written, read or ended
	buf   []byte
	ended error // what the reader gets behind the buffer; nil: more may come
}

const pipeRoom = 64 << 10

// Write blocks while the buffer is full.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for len(p.buf) >= pipeRoom && p.ended == nil {
			p.moved.Wait()
		}
		if p.ended != nil {
			return n, io.ErrClosedPipe
		}
		room := min(len(b), pipeRoom-len(p.buf))
		p.buf = append(p.buf, b[:room]...)
		b, n = b[room:], n+room
		p.moved.Broadcast()
	}
	return n, nil
}

// finish ends the body; the first end counts. drop discards what was not read, and with it an
// orderly end. That of the reader, which closes it, always counts.
func (p *pipe) finish(err error, drop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unread := drop && p.ended == io.EOF && len(p.buf) > 0
	if p.ended != nil && !unread && err != errReadAfterClose {
		return
	}
	if p.ended = err; drop {
		p.buf = nil
	}
	p.moved.Broadcast()
}

// Read blocks until there is something to read, or the end.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && p.ended == nil && len(b) > 0 {
		p.moved.Wait()
	}
	if len(p.buf) == 0 {
		return 0, p.ended
	}
	n := copy(b, p.buf)
	p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	p.moved.Broadcast()
	return n, nil
}
