package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// keyHeader is the header of an idempotency key: draft-ietf-httpapi-idempotency-key-header.
const keyHeader = "Idempotency-Key"

// Transport returns a transport with the habits that make sense over HTTP. The others are left out, and nil ones. The
// tool is [chaoshttp.Target], such as "POST api.example.com/charges"; a status of 400 or above is a failure.
//
//   - [Retries]: methods that RFC 9110 calls idempotent, such as GET and PUT, count as reads, and the header
//     Idempotency-Key as the key. The answer of a repeat may differ (section 9.2.2): 404 to a DELETE whose first answer
//     was lost. Others are repeated if the connection was refused, the host was not found or the
//     server did not take the request: 429, or 503 with Retry-After.
//   - [IdempotencyKeys]: the header Idempotency-Key on POST and PATCH that have none. Requests are equal if their
//     address, Host, body and credentials (Authorization, Cookie) are. A key is used up also by an answer of 400 to 499
//     that does not pass, unless another try under the same key failed otherwise.
//   - [Deadlines]: of each try, up to the end of the body.
//
// The first two leave out requests whose body cannot be read again ([http.Request].GetBody). A transport has one state:
// make one for each conversation. base nil: [http.DefaultTransport].
func Transport(base http.RoundTripper, all ...*Habit) http.RoundTripper {
	overHTTP := []rank{rankKey, rankRetries, rankDeadline}
	layers := slices.DeleteFunc(layersOf(all), func(l layer) bool { return !slices.Contains(overHTTP, l.rank) })
	return &transport{cmp.Or(base, http.DefaultTransport), layers}
}

type transport struct {
	base   http.RoundTripper
	layers []layer
}

// CloseIdleConnections closes those of the base, for [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip has the habits deal with a request as with a call of a tool.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.Header == nil { // no client sends it: the base says what is wrong
		return t.base.RoundTrip(req)
	}
	e := &exchange{base: t.base, req: req, tool: chaos.Tool{Name: chaoshttp.Target(req)}}
	args := map[string]any{}
	again := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		e.tool.Effect = chaos.EffectNone // done twice it is as if done once
	case http.MethodPost, http.MethodPatch:
		e.tool.IdempotencyKey = "/" + keyHeader
		args[keyHeader] = req.Header.Get(keyHeader)
		host := cmp.Or(req.Host, req.URL.Host)
		args["of"] = []any{req.URL.String(), host, req.Header["Authorization"], req.Header["Cookie"]}
		if again && req.GetBody != nil {
			args["body"], again = sum(req)
		}
	}
	layers := t.layers
	if !again {
		layers = slices.DeleteFunc(slices.Clone(layers), func(l layer) bool { return l.rank != rankDeadline })
	}
	_, err := wrap(e, layers).CallTool(req.Context(), e.tool.Name, jsonedit.Of(args).JSON())
	if e.resp != nil { // also one of a failure
		return e.resp, nil
	}
	if one, ok := err.(ofRequest); ok {
		err = one.error // for a caller it may be that of one step of several
	}
	return nil, err
}

// sum identifies equal bodies. ok is false if the body cannot be read again.
func sum(req *http.Request) (sum uint64, ok bool) {
	body, err := req.GetBody()
	if err != nil {
		return 0, false
	}
	text, err := io.ReadAll(body)
	return jsonhash.Sum(text), errors.Join(err, body.Close()) == nil
}

// An exchange is the registry of one tool, which sends a request.
type exchange struct {
	base  http.RoundTripper
	req   *http.Request
	tool  chaos.Tool
	again bool           // it was sent before
	resp  *http.Response // of the last try
}

// Tools lists the request.
func (e *exchange) Tools(context.Context) ([]chaos.Tool, error) { return []chaos.Tool{e.tool}, nil }

// CallTool sends the request with the key that the arguments have. It drops the response of the try before.
func (e *exchange) CallTool(ctx context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	// The context of a habit ends when that returns, and the body is read later: the deadline alone is kept.
	own, cancel := e.req.Context(), context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		own, cancel = context.WithDeadline(own, deadline)
	}
	req, err := e.next(own)
	if err == nil {
		if v, _ := jsonedit.ParseValue(args); v.Get(keyHeader).String() != "" {
			req.Header.Set(keyHeader, v.Get(keyHeader).String())
		}
		switch e.resp, err = e.base.RoundTrip(req); { // what is wrong, http.Client sees as here
		case err != nil:
			e.resp = nil
		case e.resp == nil:
			err = fmt.Errorf("habits: the transport (%T) returned a nil *Response with a nil error", e.base)
		}
	}
	if err != nil {
		cancel()
		return nil, ofRequest{err}
	}
	if e.resp.Body == nil { // as a test's transport may leave it
		e.resp.Body = http.NoBody
	}
	body := &ending{e.resp.Body, cancel}
	if e.resp.StatusCode != http.StatusSwitchingProtocols { // whose body can also be written to
		e.resp.Body = body
	}
	if e.resp.StatusCode >= http.StatusBadRequest {
		err = ofRequest{&chaoshttp.HTTPError{StatusCode: e.resp.StatusCode, Header: e.resp.Header}}
	}
	return nil, err
}

// ofRequest is the failure of one request, as against that of a tool, which may have sent others before.
type ofRequest struct{ error }

func (e ofRequest) Unwrap() error { return e.error }

// next is the request of the next try.
func (e *exchange) next(ctx context.Context) (req *http.Request, err error) {
	if !e.again {
		e.again = true
		return e.req.Clone(ctx), nil
	}
	req = e.req.Clone(chaos.WithHabit(ctx, nameRetries))
	if e.req.GetBody != nil {
		req.Body, err = e.req.GetBody()
	}
	if e.resp != nil && err == nil {
		_ = e.resp.Body.Close() // unread: what is slow to come would hold up this try
	}
	return req, err
}

// An ending body ends the context of its exchange when it is closed.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *ending) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
