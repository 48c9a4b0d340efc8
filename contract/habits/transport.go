package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
//     Idempotency-Key as the key.
//   - [IdempotencyKeys]: the header Idempotency-Key on POST and PATCH that have none. Requests are equal if their
//     address, body and credentials (Authorization, Cookie) are.
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

// RoundTrip has the habits deal with a request as with a call of a tool.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.Header == nil {
		return t.base.RoundTrip(req) // which refuses it
	}
	e := &exchange{base: t.base, req: req}
	tool := chaos.Tool{Name: chaoshttp.Target(req)}
	args := map[string]any{}
	again := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		tool.Effect = chaos.EffectNone // done twice it is as if done once
	case http.MethodPost, http.MethodPatch:
		tool.IdempotencyKey = "/" + keyHeader
		args[keyHeader] = req.Header.Get(keyHeader)
		args["of"] = []any{req.URL.String(), req.Header["Authorization"], req.Header["Cookie"]}
		if again && req.GetBody != nil {
			args["body"], again = sum(req)
		}
	}
	r := &registry{ToolRegistry: e, layers: t.layers}
	l := r.listed(tool, nil)
	for i, h := range t.layers {
		if !again && h.rank != rankDeadline {
			l.do[i] = nil
		}
	}
	_, err := r.call(req.Context(), map[string]*listed{tool.Name: l}, 0, tool.Name, jsonedit.Of(args).JSON())
	if e.resp != nil { // also one of a failure
		return e.resp, nil
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
	chaos.ToolRegistry // nil: nobody lists it
	base               http.RoundTripper
	req                *http.Request
	again              bool           // it was sent before
	resp               *http.Response // of the last try
}

// CallTool sends the request with the key that the arguments have. It drops the response of the try before.
func (e *exchange) CallTool(ctx context.Context, _ string, args json.RawMessage) (json.RawMessage, error) {
	// The context of a habit ends when that returns, and the body is read later: the deadline alone is kept.
	own, cancel := e.req.Context(), context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		own, cancel = context.WithDeadline(own, deadline)
	}
	req := e.req.Clone(own)
	if e.again {
		req = req.WithContext(chaos.WithHabit(own, nameRetries))
		if e.resp != nil {
			_, _ = io.CopyN(io.Discard, e.resp.Body, 4096) // so that the connection can be used again
			_ = e.resp.Body.Close()
			e.resp = nil
		}
		if e.req.GetBody != nil {
			body, err := e.req.GetBody()
			if err != nil {
				cancel()
				return nil, err
			}
			req.Body = body
		}
	}
	e.again = true
	if v, _ := jsonedit.ParseValue(args); v.Get(keyHeader).String() != "" {
		req.Header.Set(keyHeader, v.Get(keyHeader).String())
	}
	resp, err := e.base.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	body := &ending{resp.Body, cancel}
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body can also be written to
		resp.Body = body
	}
	if e.resp = resp; resp.StatusCode >= http.StatusBadRequest {
		return nil, &chaoshttp.HTTPError{StatusCode: resp.StatusCode, Header: resp.Header}
	}
	return nil, nil
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
