package chaoshttp

import (
	"cmp"
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
	// Name takes the place of the host and port in the names of injection points,
	// "GET orders/7" for the name "orders", where those change from run to run. It is
	// in lower case there. Empty: host and port are part of the name.
	Name string
	// Target names the injection point of a request, for instance to fold paths
	// into one: "GET api.example.com/orders/{id}". It must be pure, and is
	// called for every request under an injector. If it is nil, or returns "",
	// [Target] is used. The model of a call is added to either.
	Target func(*http.Request) string
	// Tools are those targets that are tools. Events of their calls have the layer of tools and the
	// declared effect; a GET and its like change nothing all the same. With
	// [chaos.InjectorOptions].KeepValues they keep the JSON of the bodies as arguments and result,
	// that of an answer if no fault acts on it and it has up to 1 MiB. What is no JSON is not kept,
	// and the event says so. The bodies may hold secrets.
	Tools []chaos.Tool
}

// safe are the methods that change nothing (RFC 9110, section 9.2.1), whatever a tool declares.
var safe = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// maxBody is how much of a request's body is read for its key and for the model, in
// bytes. Longer bodies are told apart by their beginning.
const maxBody = 4 << 20

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

func (p *points) site(r *http.Request) (s *site, target string) {
	s = p.sites.siteOf(r, p.opts.Name)
	if p.opts.Target != nil {
		if own := p.opts.Target(r); own != "" {
			return s, own
		}
	}
	return s, s.target
}

// exchange is one call with a fault or a record: a request and its answer,
// however often faults send the request.
type exchange struct {
	do      func(*http.Request) (*http.Response, error)
	request *http.Request
	payload *payload
	server  bool
	tool    bool // of Options.Tools

	mu      sync.Mutex
	settled bool             // the caller has its answer: what is sent now is a late request
	taken   []*http.Response // from the callee
	bodies  []io.Closer      // of those, and those that faults put in front of them
	stages  []stage          // what faults did to the answers, in order
	judged  sync.Once
	// release ends the wait for what the client gets; nil: fewer than two faults change
	// the answer.
	release func(err error, made bool) error
}

type exchangeKey struct{}

// exchangeOf is the exchange that a fault acts on; nil: the point is not HTTP.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// arrival is a request at its injection point, before anything is allocated for
// it.
type arrival struct {
	chaos.Crossing
	ctx     context.Context
	request *http.Request
	server  bool
	model   bool        // it is a call of a model
	tool    *chaos.Tool // of Options; nil: it is none of those
	payload *payload    // nil: its body was not read
	key     uint64
	keyed   bool // key is known
}

// arrive decides which faults a request meets. It reads only what that needs:
// not the body, if no rule in force looks at the key of a call, its model or
// its arguments.
func (p *points) arrive(in *chaos.Injector, r *http.Request, s *site, name string, server bool) (a arrival, err error) {
	a.request, a.server, a.model = r, server, s.layer == chaos.LayerLLM
	target := name
	if a.model {
		if err := a.read(); err != nil {
			return a, err
		}
		if model := cmp.Or(s.model, a.payload.model()); model != "" {
			target = s.withModel(name, model)
		}
	}
	a.ctx = r.Context()
	layer := s.layer
	for i := range p.opts.Tools {
		if t := &p.opts.Tools[i]; t.Name == name && !a.model {
			a.tool, layer = t, chaos.LayerTool
		}
	}
	a.Crossing = in.Arrive(a.ctx, target, name, layer, a.payload == nil && hasBody(r))
	switch {
	case a.tool == nil:
	case slices.Contains(safe, r.Method):
		a.Declare(chaos.EffectNone)
	default:
		a.Declare(a.tool.Effect)
	}
	if a.Waiting() {
		if err := a.knowKey(); err != nil {
			return a, err
		}
		var args any = r
		switch {
		case a.WantsArgs():
			args = a.args()
		case server:
			args = (*arrivedRequest)(r)
		}
		a.Match(a.key, args)
	}
	return a, nil
}

func (a *arrival) args() Request {
	return Request{Request: a.request, payload: a.payload, server: a.server, model: a.model, tool: a.tool != nil}
}

func (a *arrival) read() (err error) {
	if a.payload == nil {
		a.payload, err = read(a.request, maxBody, a.server)
	}
	return err
}

// knowKey computes the key; a key of the query alone needs no payload.
func (a *arrival) knowKey() error {
	if a.keyed {
		return nil
	}
	if hasBody(a.request) {
		if err := a.read(); err != nil {
			return err
		}
	}
	a.key, a.keyed = a.payload.key(a.request), true
	return nil
}

// intact returns the request for its callee, with the body as it was.
func (a *arrival) intact() *http.Request {
	if a.payload == nil || a.payload.body == nil {
		return a.request
	}
	r := a.request.WithContext(a.request.Context())
	r.Body = a.payload.body
	return r
}

// passed records how a call without a fault ended. If it failed and its body
// was not read, the body is read for its key, provided that it can be had
// again.
func (a *arrival) passed(failed error) {
	if !a.keyed && (failed == nil || hasBody(a.request) && a.request.GetBody == nil || a.knowKey() != nil) {
		return
	}
	a.Passed(a.key, failed)
}

func (a *arrival) refused() (*http.Response, error) {
	if a.request.Body != nil && !a.server {
		a.request.Body.Close() // a transport closes it in any case
	}
	status := statusOf(a.Err())
	if status == nil {
		return nil, a.Err()
	}
	resp := status.response()
	if resp.Request = a.request; a.request.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	return a.payload.heard(resp), nil
}

// cross takes an exchange over its injection point. The error it returns is
// never an [*HTTPError].
func (x *exchange) cross(a *arrival) (*http.Response, error) {
	if err := a.read(); err != nil {
		return nil, err
	}
	x.request, x.payload, x.server, x.tool = a.request, a.payload, a.server, a.tool != nil
	crossing := a.Crossing // so that the one of a call that passes stays on the stack
	call := chaos.WrapWith("", x.send, &chaos.WrapOptions[Request]{Crossing: &crossing})
	r, err := call(context.WithValue(a.ctx, exchangeKey{}, x), a.args())
	resp, err := x.settle(r, err)
	return a.payload.heard(resp), err
}

// errNoResponse is the error of http.Client for a transport that breaks its
// contract.
var errNoResponse = errors.New("http: RoundTripper implementation returned a nil *Response with a nil error")

// send is the callee; faults may call it several times. A status of 400 and
// above is an error to the faults in front of it. If the caller has its answer
// already, the answer to this request is ended here.
func (x *exchange) send(ctx context.Context, r Request) (Response, error) {
	p := r.payload
	if r.Request == nil {
		return Response{}, errNoRequest
	}
	if p == nil { // a Request that a fault made
		p = x.payload
	}
	x.mu.Lock()
	late := x.settled
	x.mu.Unlock()
	req, err := p.send(r.WithContext(ctx))
	if err != nil {
		chaos.Note(ctx, err.Error())
		return Response{}, err
	}
	resp, err := x.do(req)
	switch {
	case err != nil:
		return Response{}, err
	case resp == nil:
		return Response{}, errNoResponse
	case resp.Body == nil: // a transport made by hand; http.Client accepts it too
		resp.Body = http.NoBody
	}
	if late {
		discard(resp)
		return Response{resp}, nil
	}
	resp.Request = cmp.Or(resp.Request, req)
	if x.tool {
		resp.Body = documentOf(resp)
	}
	if resp.Body != http.NoBody && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &tap{ReadCloser: resp.Body} // faults in front of it may close it, and so may the client
	}
	x.mu.Lock()
	x.taken, x.bodies = append(x.taken, resp), append(x.bodies, resp.Body)
	x.mu.Unlock()
	if resp.StatusCode >= http.StatusBadRequest {
		return Response{}, &HTTPError{StatusCode: resp.StatusCode, Header: resp.Header, real: resp}
	}
	return Response{resp}, nil
}

// mostDrained is how much is read of an answer without a reader, in bytes. A
// handler that has more to write learns that its client is gone.
const mostDrained = 256 << 10

// discard ends an answer without a reader. A stream is closed at once: its end
// may be far.
func discard(resp *http.Response) {
	if !oneByOne(resp.Header.Get("Content-Type")) && resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.CopyN(io.Discard, resp.Body, mostDrained)
	}
	resp.Body.Close()
	resp.Body = http.NoBody
}

// settle turns the result of the call into what the client gets.
func (x *exchange) settle(r Response, err error) (*http.Response, error) {
	x.mu.Lock()
	x.settled = true
	own, bodies, stages := x.taken, len(x.bodies), x.stages
	x.mu.Unlock()
	// A late request gets a copy of the body: the caller may reuse its own.
	if sent := x.payload.sent.Swap(true); !sent && x.request.Body != nil && !x.server {
		x.request.Body.Close() // a transport closes it in any case
	}
	resp := r.Response
	var shown *http.Response // in which headers that faults made may be seen
	if err != nil {
		status := statusOf(err)
		if status == nil {
			x.drop()
			return nil, err
		}
		resp = status.response()
	} else {
		if resp == nil { // a fault replaced it by nothing
			resp = answer(http.StatusOK, "200 OK", http.Header{}, nil)
		}
		shown = resp
	}
	resp.Request = x.request
	for _, st := range stages {
		if st.spoiled != nil {
			st.spoiled.showHeader(shown)
		}
	}
	if len(own) == 0 && x.request.Method == http.MethodHead {
		resp.Body = http.NoBody // what was made here would have one
		x.drop()
	} else if bodies > 0 && !(bodies == 1 && slices.Contains(own, resp)) {
		x.own(resp)
	}
	return resp, nil
}

func (x *exchange) drop() {
	x.mu.Lock()
	bodies, release := x.bodies, x.release
	x.bodies = nil
	x.mu.Unlock()
	for _, body := range slices.Backward(bodies) { // the last that was made stands in front
		body.Close()
	}
	if release != nil {
		_ = release(nil, false)
	}
}

// own makes closing the answer's body close all others of the exchange: bodies
// that a fault replaced, and those of requests that were sent again. When the client is
// done with the answer, or its cell ends, it is decided what was delivered.
func (x *exchange) own(resp *http.Response) {
	body := newTap(resp, mostKept)
	judge := func() { x.judged.Do(func() { x.judge(resp, body) }) }
	body.ended = func() { judge(); x.drop() }
	x.mu.Lock()
	if x.release != nil {
		chaos.BeforeEnd(innermost(x.stages).ctx, judge)
	} else {
		body.most = 0
	}
	x.mu.Unlock()
	if w, ok := resp.Body.(io.Writer); ok { // of a connection that switched protocols
		resp.Body = struct {
			*tap
			io.Writer
		}{body, w}
		return
	}
	resp.Body = body
}
