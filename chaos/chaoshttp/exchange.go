package chaoshttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of [NewTransport] and [Handler]; the zero value works.
type Options struct {
	_ struct{}
	// Injector binds to an injector, whatever the contexts of requests carry;
	// nil: the one in the context of each request, and without one there are no faults.
	Injector *chaos.Injector
	// Target names the injection point of a request, for instance to fold
	// paths into one: "GET api.example.com/orders/{id}". It must be pure, and
	// is asked about every request under an injector. nil, or a result that is
	// empty: [Target]. The model of a call is added to either.
	Target func(*http.Request) string
	// MaxBody is how much of a request's body is read for its key and for the
	// model, in bytes; what is longer tells its calls apart by the beginning.
	// 0 or less: 4 MiB.
	MaxBody int64
}

const defaultMaxBody = 4 << 20

// points are the injection points of one transport or handler.
type points struct {
	opts  Options
	sites sites
}

func (p *points) injector(ctx context.Context) *chaos.Injector {
	if p.opts.Injector != nil {
		return p.opts.Injector
	}
	return chaos.FromContext(ctx)
}

// site is where a request goes, and the name of that.
func (p *points) site(r *http.Request) (s *site, target string) {
	s = p.sites.of(r)
	if p.opts.Target != nil {
		if own := p.opts.Target(r); own != "" {
			return s, own
		}
	}
	return s, s.target
}

// exchange is one call that something may happen to: a request and what it is
// answered with, however often faults send it.
type exchange struct {
	do       func(*http.Request) (*http.Response, error)
	original *http.Request
	payload  *payload
	server   bool

	mu     sync.Mutex
	sent   int
	taken  []*http.Response // from the callee
	bodies []io.Closer      // of those
}

// cross takes an exchange over its injection point. Its error is not an
// [*HTTPError].
func (p *points) cross(in *chaos.Injector, s *site, name string, x *exchange) (*http.Response, error) {
	limit := p.opts.MaxBody
	if limit <= 0 {
		limit = defaultMaxBody
	}
	var err error
	if x.payload, err = read(x.original, limit, x.server); err != nil {
		return nil, err
	}
	target := name
	if s.llm() {
		if model := x.payload.model(); model != "" {
			target += "#" + model
		}
	}
	call := chaos.WrapWith(target, x.send, chaos.WrapOptions[Request]{
		Key: func(Request) uint64 { return x.payload.key(x.original) }, Injector: in, Layer: s.layer, Alias: name,
	})
	r, err := call(numbered(x.original.Context(), target), Request{Request: x.original, server: x.server})
	return x.settle(r, err)
}

// errNoResponse is what http.Client says of a transport that breaks its contract.
var errNoResponse = errors.New("http: RoundTripper implementation returned a nil *Response with a nil error")

// send is the callee: it may be called several times. A status of 400 and
// above is an error to whoever stands in front of it.
func (x *exchange) send(ctx context.Context, r Request) (Response, error) {
	x.mu.Lock()
	again := x.sent > 0
	x.sent++
	x.mu.Unlock()
	req, err := x.payload.request(r.WithContext(ctx), x.original, again)
	if err != nil {
		return Response{}, err
	}
	resp, err := x.do(req)
	switch {
	case err != nil:
		return Response{}, err
	case resp == nil:
		return Response{}, errNoResponse
	case resp.Body == nil: // a transport made by hand; http.Client minds it as little
		resp.Body = http.NoBody
	}
	x.mu.Lock()
	x.taken, x.bodies = append(x.taken, resp), append(x.bodies, resp.Body)
	x.mu.Unlock()
	if resp.StatusCode >= http.StatusBadRequest {
		return Response{}, &HTTPError{StatusCode: resp.StatusCode, Header: resp.Header, real: resp}
	}
	return Response{resp}, nil
}

// settle makes of what the call came to what the client gets.
func (x *exchange) settle(r Response, err error) (*http.Response, error) {
	x.mu.Lock()
	sent, own := x.sent, x.taken
	x.mu.Unlock()
	if sent == 0 && x.original.Body != nil && !x.server {
		x.original.Body.Close() // a transport closes it in any case
	}
	resp := r.Response
	var status *HTTPError
	if errors.As(err, &status) {
		resp, err = status.response(), nil
	}
	if err != nil {
		x.drop()
		return nil, err
	}
	if resp == nil { // a fault replaced it by nothing
		resp = answer(http.StatusOK, http.Header{}, nil)
	}
	resp.Request = x.original
	if !slices.Contains(own, resp) || len(own) > 1 {
		resp.Body = &owner{resp.Body, x}
	}
	if len(own) == 0 && x.original.Method == http.MethodHead {
		resp.Body = http.NoBody // what was made here would have one
	}
	return resp, nil
}

// drop closes what the callee gave and nobody will read.
func (x *exchange) drop() {
	x.mu.Lock()
	bodies := x.bodies
	x.mu.Unlock()
	for _, body := range bodies {
		body.Close()
	}
}

// owner is a body that stands for others: they are closed with it.
type owner struct {
	io.ReadCloser
	x *exchange
}

func (o *owner) Close() error {
	err := o.ReadCloser.Close()
	o.x.drop()
	return err
}
