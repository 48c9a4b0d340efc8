package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/blame"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// Keep is for a fault that remembers results: it prepares the response to be
// given again to a later caller. Call it before the caller has the response. It
// keeps what the caller reads of the body, up to 4 MiB.
//
// again returns the response once more, with a body of its own; or nil and the
// reason: the body was not read to its end, is longer, or is a stream. again is
// safe for concurrent use.
func (r Response) Keep() (again func() (result any, why string)) {
	k := &keeping{why: "the earlier answer was not read to its end"}
	if r.Response == nil {
		k.why = "the earlier answer is empty"
		return k.again
	}
	k.like = *r.Response
	k.like.Header = r.Header.Clone()
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		k.doc, k.why = []byte{}, ""
	case r.StatusCode == http.StatusSwitchingProtocols || oneByOne(r.Header.Get("Content-Type")):
		k.why = "the earlier answer is a stream"
	default:
		r.Response.Body = &watched{ReadCloser: r.Body, done: k.done}
	}
	return k.again
}

// keeping is a response that may be given again. Its watched body reports when
// it was read, in the goroutine of the caller.
type keeping struct {
	like http.Response

	mu  sync.Mutex
	doc []byte
	why string // it cannot be given; empty: it can
}

func (k *keeping) done(doc []byte, end ending, _ error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch end {
	case readWhole:
		k.doc, k.why = doc, ""
	case readTooLong:
		k.why = "the earlier answer is longer than 4 MiB"
	}
}

func (k *keeping) again() (any, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why != "" {
		return nil, k.why
	}
	r := k.like
	r.Header, r.Body, r.Trailer = k.like.Header.Clone(), memory{bytes.NewReader(k.doc)}, nil
	return Response{&r}, ""
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
	after, _, ok := all(to.Body, mostJSON)
	if !ok {
		chaos.Note(ctx, "the other answer cannot be read")
		return r
	}
	before, rest, read := all(r.Body, mostJSON)
	if read && to.StatusCode == r.StatusCode && jsonhash.Same(before, after) {
		return held(r, before, rest)
	}
	c := *to.Response
	c.Body = r.Body
	from := before
	if !read {
		from = nil
	}
	return spoil(ctx, r, Response{&c}, func(s *spoiled, _ io.Reader) io.Reader {
		return &altered{s: s, from: from, doc: after, mark: blame.Common(before, after), what: []chaos.Change{{Before: shownBody(before), After: shownBody(after)}}}
	})
}

// mostShown is how much of a body an event shows.
const mostShown = 4096

func shownBody(doc []byte) json.RawMessage {
	if len(doc) <= mostShown && json.Valid(doc) {
		return bytes.Clone(doc)
	}
	return text(string(bytes.ToValidUTF8(doc[:min(len(doc), mostShown)], []byte("\uFFFD"))))
}

// NoDocument tells faults that change documents, such as those of package
// chaos/lies, why a request is none, for the note in the event. The JSON of a
// request is only its form in events.
func (r Request) NoDocument() string { return "the arguments are an HTTP request" }

// NoDocument says the same of a response. Its body may be a document: see
// [Response.OnBody].
func (r Response) NoDocument() string { return "the result is an HTTP response" }
