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
	return stageOf(ctx, r, func(ctx context.Context, r Response) Response {
		before, rest, read := all(r.Body, mostJSON)
		if read && to.StatusCode == r.StatusCode && jsonhash.Same(before, after) {
			return held(r, before, rest)
		}
		c := *to.Response
		c.Header, c.Body = to.Header.Clone(), r.Body
		return spoil(ctx, r, Response{&c}, func(s *spoiled, _ io.Reader) io.Reader {
			return &altered{s: s, doc: after, mark: blame.Common(before, after),
				what: []chaos.Change{{Before: shownBody(before), After: shownBody(after)}}}
		})
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
		c := *r.Response
		w := &watched{ReadCloser: r.Body, done: func(doc []byte, _ ending, err error) { done(doc, err) }}
		c.Body = w
		exchangeOf(ctx).add(w)
		return Response{&c}
	}), true
}

// oneByOne reports whether a content type is that of a stream of documents or
// events.
func oneByOne(kind string) bool {
	return slices.ContainsFunc([]string{"event-stream", "ndjson", "jsonl", "json-seq"},
		func(stream string) bool { return strings.Contains(kind, stream) })
}

// watched keeps what is read of a body.
type watched struct {
	io.ReadCloser
	done func(doc []byte, end ending, err error)

	mu   sync.Mutex // Close may come while a Read waits
	doc  []byte
	size int64 // of what was read
	over bool
}

// ending says how much of a body was read.
type ending int

const (
	readPart    ending = iota // it failed, or was closed before its end
	readWhole                 // the document is all of it
	readTooLong               // the document is its beginning
)

const maxWatched = 4 << 20

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.mu.Lock()
	if !w.over {
		w.doc = append(w.doc, p[:min(n, maxWatched-len(w.doc))]...)
		w.size += int64(n)
	}
	w.mu.Unlock()
	switch err {
	case nil:
	case io.EOF:
		w.end(true, nil)
	default:
		w.end(false, err)
	}
	return n, err
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	w.end(false, nil)
	return err
}

func (w *watched) end(all bool, err error) {
	w.mu.Lock()
	first, doc, end := !w.over, w.doc, readPart
	switch {
	case int64(len(doc)) < w.size:
		end = readTooLong
	case all:
		end = readWhole
	}
	w.over, w.doc = true, nil
	w.mu.Unlock()
	if first {
		w.done(doc, end, err)
	}
}
