package chaoshttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
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
	running  int           // handlers; no WaitGroup, which would belong to one bubble
	idle     chan struct{} // closed when none runs; nil: nobody waits
}

// panicked is a panic of a handler.
type panicked struct {
	value any
	stack []byte
}

// InProcess makes a server of a handler.
func InProcess(h http.Handler) *Server { return &Server{handler: h} }

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
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
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
		w.body.cut(gone)
		return nil, gone
	}
	if w.failed != nil {
		return nil, w.failed
	}
	resp := w.response(r)
	stop := context.AfterFunc(r.Context(), func() { w.body.cut(context.Cause(r.Context())) })
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

// run is the goroutine of one request.
func (s *Server) run(w *writer, r *http.Request, cancel context.CancelFunc) {
	defer s.end()
	if r.Body != nil { // nil: made by hand, for the handler alone
		defer r.Body.Close()
	}
	returned := false
	defer func() {
		p := recover() // nil besides: the handler ended its goroutine, or returned
		w.finish(returned)
		if !returned && p != nil && p != http.ErrAbortHandler {
			s.mu.Lock()
			s.panicked = append(s.panicked, panicked{p, debug.Stack()})
			s.mu.Unlock()
		}
		cancel()
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
	s.closed = true
	if s.running > 0 && s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		<-idle
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.panicked
}

// end notes that a handler has ended.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.idle != nil {
		close(s.idle)
	}
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

// servedBody is the client's end of an answer.
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
	b.close()
	b.cancel()
	return nil
}
