package chaoshttp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// bodyRow completes the row of a fault that changes an answer with a body. of, which
// change is given, is the request.
func bodyRow[P any](r catalog.Row,
	change func(ctx context.Context, c chaos.Call, p P, r Response, of Request) Response) *catalog.Inject[P] {
	r.Persistence, r.Effect = chaos.Transient, chaos.EffectDone
	return &catalog.Inject[P]{Row: r, Phase: chaos.PhaseChange,
		Inject: func(ctx context.Context, c chaos.Call, p P, args any, next chaos.Next) (any, error) {
			return alterAnswer(ctx, args, next, false, func(ctx context.Context, r Response, of Request) Response {
				return change(ctx, c, p, r, of)
			})
		}}
}

// replaceAnswer makes the call for a fault that puts another body in place: an
// answer without one will do.
func replaceAnswer(ctx context.Context, args any, next chaos.Next,
	apply func(ctx context.Context, r Response) Response) (any, error) {
	return alterAnswer(ctx, args, next, true,
		func(ctx context.Context, r Response, _ Request) Response { return apply(ctx, r) })
}

// alterAnswer makes the call and has apply change its answer; with anew that may be
// one without a body. of is the request.
func alterAnswer(ctx context.Context, args any, next chaos.Next, anew bool,
	apply func(ctx context.Context, r Response, of Request) Response) (any, error) {
	of, _ := args.(Request)
	return changeAnswer(ctx, args, next, func(ctx context.Context, r Response) Response {
		none := r.StatusCode == http.StatusSwitchingProtocols || !anew && !bodyAllowed(r.StatusCode)
		if none || of.Request != nil && of.Method == http.MethodHead {
			chaos.Note(ctx, "the answer has no body")
			return r
		}
		return apply(ctx, r, of)
	})
}

// streams reports whether a response is a stream of documents or events:
// waiting for the last of them would change more than was asked.
func streams(ctx context.Context, r Response) bool {
	if !oneByOne(r.Header.Get("Content-Type")) {
		return false
	}
	chaos.Note(ctx, "the body is a stream")
	return true
}

// copied is a copy of the response whose header may be changed.
func copied(r Response) Response {
	c := *r.Response
	c.Header = r.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	return Response{&c}
}

// resized is a copy of a response that does not say how long it is; one that
// did not say so before stays as it is.
func resized(r Response) Response {
	if r.ContentLength <= 0 && r.Header.Get("Content-Length") == "" {
		return r
	}
	return sized(r, -1)
}

// sized is a copy of a response that says it is n bytes long; negative: that
// it does not know.
func sized(r Response, n int64) Response {
	c := copied(r)
	if c.ContentLength = n; n < 0 {
		c.Header.Del("Content-Length")
		return c
	}
	c.Header.Set("Content-Length", strconv.FormatInt(n, 10))
	c.TransferEncoding = nil
	return c
}

// altered reads a document that is not the one that was sent, and says so once
// the byte was read that makes the difference: that at mark, or the end.
type altered struct {
	s        *spoiled
	doc      []byte
	mark     int
	off      int
	what     []chaos.Change
	declared bool
}

func (a *altered) Read(p []byte) (int, error) {
	n := copy(p, a.doc[a.off:])
	a.off += n
	over := a.off == len(a.doc) && n == 0 && len(p) > 0
	if !a.declared && (a.off > a.mark || over) {
		a.declared = true
		a.s.changed(a.what...)
	}
	if over {
		return 0, io.EOF
	}
	return n, nil
}

// number is a JSON number.
func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// text is a JSON string.
func text(s string) json.RawMessage { return encode(s) }
