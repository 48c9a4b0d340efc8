package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/blame"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// revision is what a fault makes of a document: another one, and what to
// declare once the caller reads the difference.
type revision struct {
	doc  []byte
	what []chaos.Change
}

// revise lets a fault replace a document of at most so many bytes; for a longer
// one the event says unfit. make gets the whole document and returns a
// revision, or an error for the reader of the body.
//
// The document is read and changed before the caller has the header. A length there
// becomes the new one; an answer without a change stays as it was.
func revise(ctx context.Context, r Response, most int64, unfit string,
	make func(context.Context, []byte) (revision, error)) Response {
	switch {
	case r.ContentLength > most:
		chaos.Note(ctx, unfit)
		return r
	case size(r.Response) == 0:
		chaos.Note(ctx, emptyBody)
		return r
	}
	doc, rest, ok := all(r.Body, most, r.ContentLength)
	if !ok {
		chaos.Note(ctx, unfit)
		return held(r, doc, rest)
	}
	rev, err := make(ctx, doc)
	if err == nil && bytes.Equal(rev.doc, doc) {
		return held(r, doc, rest)
	}
	c := held(r, nil, rest)
	switch {
	case err != nil:
	case r.ContentLength > 0:
		c = sized(c, int64(len(rev.doc)))
	default:
		c = resized(c)
	}
	return spoil(ctx, r, c, func(s *spoiled, _ io.Reader) io.Reader { return rev.reader(s, doc, err) })
}

func (rev revision) reader(s *spoiled, doc []byte, err error) io.Reader {
	switch {
	case err != nil && s.ctx.Err() != nil:
		return failing(err) // it waited, and the caller left
	case err != nil:
		return failing(s.fail(err))
	case bytes.Equal(rev.doc, doc):
		return bytes.NewReader(doc)
	}
	return s.serve(rev.doc, blame.Common(doc, rev.doc), rev.what...)
}

// held is a response with doc, which was read, followed by rest, which was not.
func held(r Response, doc []byte, rest io.Reader) Response {
	c := *r.Response
	c.Body = &whole{Reader: io.MultiReader(bytes.NewReader(doc), rest), from: r.Body}
	return Response{&c}
}

const (
	emptyBody = "the body is empty"
	notJSON   = "the body is no JSON of at most 4 MiB"
	// mostJSON is how much of a body is held in memory to be spoiled.
	mostJSON = 4 << 20
)

func reviseJSON(ctx context.Context, r Response, make func(context.Context, []byte) (revision, error)) Response {
	if streams(ctx, r) {
		return r
	}
	return revise(ctx, r, mostJSON, notJSON, func(ctx context.Context, doc []byte) (revision, error) {
		if !json.Valid(doc) {
			chaos.Note(ctx, notJSON)
			return revision{doc: doc}, nil
		}
		return make(ctx, doc)
	})
}

// HTMLPage replaces the body by the page of a gateway, under status 200 and the
// content type of JSON.
func HTMLPage() chaos.Fault { return htmlPage.Of(catalog.None{}) }

var htmlPage = changeRow(catalog.Row{
	Kind: "html_page", Doc: "The body is the error page of a gateway, with the content type of JSON.",
	Go:    "chaoshttp.HTMLPage()",
	Class: chaos.ClassProtocol,
}, true, func(ctx context.Context, _ chaos.Call, _ catalog.None, r Response, _ Request) Response {
	const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
		"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	return replaced(ctx, r, []byte(page))
})

// ErrorInOK replaces the body by an error and keeps status 200, as some
// gateways do. The error is that of the API and kind, as [APIError] has them; if both are
// empty, a plain one: {"error":…}.
func ErrorInOK(api API, kind ErrorKind) chaos.Fault {
	return errorInOK.Of(bodyError{api, kind})
}

type bodyError struct {
	API   API       `json:"api,omitempty" bounds:"enum=|openai|anthropic|gemini|ollama|bedrock" doc:"whose error; left out: that of the request's provider"`
	Error ErrorKind `json:"error,omitempty" doc:"left out: a plain error" bounds:"enum=|invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
}

var errorInOK = changeRow(catalog.Row{
	Kind: "error_in_ok", Doc: "The body is an error, under status 200.",
	Go: "chaoshttp.ErrorInOK(api, kind)", Example: `{"api":"anthropic","error":"overloaded"}`,
	Class: chaos.ClassProtocol,
}, true, func(ctx context.Context, c chaos.Call, p bodyError, r Response, of Request) Response {
	doc := []byte(`{"error":{"code":500,"message":"Internal server error"}}`)
	if p.Error != "" {
		is, note, ok := errorOf(p).resolve(of, c.Target)
		chaos.Note(ctx, note)
		if !ok {
			return r
		}
		doc, _ = is.body(c, 0)
	}
	return replaced(ctx, r, doc)
})

func (p bodyError) Check(c *catalog.Check) {
	c.That(p.API == "" || p.Error != "", "error", p.Error, "a kind of error, for that of an API")
	checkKind(c, p.API, p.Error)
}

// replaced is a response with another body, under the content type of JSON.
func replaced(ctx context.Context, r Response, doc []byte) Response {
	c := sized(r, int64(len(doc)))
	c.StatusCode, c.Status = http.StatusOK, "200 OK"
	c.Header.Del("Content-Encoding")
	if kinds := c.Header.Values("Content-Type"); !slices.ContainsFunc(kinds,
		func(k string) bool { return strings.Contains(k, "json") }) {
		c.Header.Set("Content-Type", "application/json")
	}
	return spoil(ctx, r, c, func(s *spoiled, _ io.Reader) io.Reader {
		return s.serve(doc, 0, chaos.Change{After: encode(string(doc))})
	})
}

// OnBody lets a fault of results change the JSON body of the response, as those of
// package chaos/lies do. A fault calls it with the call and the arguments that it was
// given, to act on a document within a response: f gets the body as its result. The
// result replaces the response. A body is not changed if it is no JSON, longer than 4
// MiB, or a stream of events or documents.
//
// f runs before the caller has the header: a length there is that of the changed
// body. The call ends with the body, and f is delivered once the caller has read
// the first byte that differs.
//
// With other faults on the same body, f may run once more when the client is done, on what
// the body would have been without them, to find out what the client saw of it. That is
// left out if f is [chaos.Stateful].
func (r Response) OnBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) (any, error) {
	return changeAnswer(ctx, args, r, false, func(ctx context.Context, r Response, of Request) Response {
		return reviseJSON(ctx, r, func(ctx context.Context, doc []byte) (revision, error) {
			return onBody(ctx, c, of, f, doc)
		})
	}), nil
}

func onBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault, doc []byte) (revision, error) {
	if again := rehearsalOf(ctx); again != nil {
		if _, ok := f.(chaos.Stateful); ok {
			return revision{}, again.stuck() // what it remembers must not change
		}
	}
	held, changes := chaos.Withhold(ctx)
	result, err := f.Inject(held, c, args, func(context.Context, any) (any, error) {
		return json.RawMessage(bytes.Clone(doc)), nil
	})
	if err != nil {
		return revision{}, err
	}
	raw, ok := result.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(result); err != nil {
			chaos.Note(ctx, "the fault made a result that has no JSON: "+err.Error())
			return revision{doc: doc}, nil
		}
	}
	return revision{doc: raw, what: changes()}, nil
}

// Keep is for a fault that remembers results: it prepares the response to be
// given again to a later caller. Call it before the caller has the response. It
// keeps what the caller reads of the body, up to 4 MiB.
//
// again returns the response once more, with a body of its own; or nil and the
// reason: the body was not read to its end, is longer, or is a stream. again is
// safe for concurrent use.
func (r Response) Keep() (again func() (result any, why string)) {
	if r.Response == nil {
		return func() (any, string) { return nil, "the earlier answer is empty" }
	}
	t := newTap(r.Response, mostKept)
	if r.Body != nil && r.Body != http.NoBody {
		if r.StatusCode == http.StatusSwitchingProtocols || oneByOne(r.Header.Get("Content-Type")) {
			return func() (any, string) { return nil, "the earlier answer is a stream" }
		}
		r.Response.Body = t
	}
	return func() (any, string) {
		doc, all, end := t.kept()
		switch {
		case !all:
			return nil, "the earlier answer is longer than 4 MiB"
		case end != io.EOF:
			return nil, "the earlier answer was not read to its end"
		}
		c := t.like
		c.Header, c.Body, c.Trailer = c.Header.Clone(), memory{bytes.NewReader(doc)}, nil
		return Response{&c}, ""
	}
}

// Become replaces this answer by another, for a fault that answers with an
// earlier one. other is a Response, or a value whose JSON becomes the body.
// Become compares the two bodies, of which it reads at most 4 MiB, and declares
// the difference when the caller reads it. It returns r itself if there is
// none, or if the other answer cannot be read.
func (r Response) Become(ctx context.Context, other any) (result any) {
	to, ok := other.(Response)
	if !ok {
		doc, err := json.Marshal(other)
		if err != nil {
			chaos.Note(ctx, fmt.Sprintf("the other answer, %T, has no JSON: %v", other, err))
			return r
		}
		_ = to.UnmarshalJSON(doc)
	}
	if r.Response == nil || r.Body == nil || to.Response == nil || streams(ctx, r) {
		return r
	}
	after, _, ok := all(to.Body, mostJSON, to.ContentLength)
	if !ok {
		chaos.Note(ctx, "the other answer cannot be read")
		return r
	}
	return stageOf(ctx, r, func(ctx context.Context, r Response) Response {
		before, rest, read := all(r.Body, mostJSON, r.ContentLength)
		if read && to.StatusCode == r.StatusCode && jsonhash.Same(before, after) {
			return held(r, before, rest)
		}
		c := *to.Response
		c.Header, c.Body = to.Header.Clone(), r.Body
		return spoil(ctx, r, Response{&c}, func(s *spoiled, _ io.Reader) io.Reader {
			return s.serve(after, blame.Common(before, after),
				chaos.Change{Before: shownBody(before), After: shownBody(after)})
		})
	})
}

const mostShown = 4096

func shownBody(doc []byte) json.RawMessage {
	if len(doc) <= mostShown && json.Valid(doc) {
		return bytes.Clone(doc)
	}
	return encode(string(bytes.ToValidUTF8(doc[:min(len(doc), mostShown)], []byte("\uFFFD"))))
}

// OnRead returns the response with a body that is watched. done is called once
// the client has read or closed it, in the client's goroutine, with what was
// read, at most 4 MiB, and the error by which reading ended, if any. So a fault
// learns what a response says, such as what a model call cost, without making
// the client wait.
//
// watch is a Response. ok is false for a body that is none, or that is a stream
// of events or documents; done is not called then. ctx is that of the fault's
// Inject: if another fault replaces the response, the body ends with the
// client's answer.
func (r Response) OnRead(ctx context.Context, done func(doc []byte, err error)) (watch any, ok bool) {
	if r.Response == nil || r.Body == nil || r.StatusCode == http.StatusSwitchingProtocols ||
		oneByOne(r.Header.Get("Content-Type")) {
		return r, false
	}
	return stageOf(ctx, r, func(ctx context.Context, r Response) Response {
		if rehearsalOf(ctx) != nil {
			return r
		}
		c, t := *r.Response, newTap(r.Response, mostKept)
		t.ended = func() {
			doc, _, err := t.kept()
			if err == io.EOF {
				err = nil
			}
			done(doc, err)
		}
		c.Body = t
		return Response{&c}
	}), true
}
