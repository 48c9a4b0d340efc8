package chaoshttp

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

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
	if r.Response == nil || r.Body == nil || r.StatusCode == http.StatusSwitchingProtocols || oneByOne(r.Header.Get("Content-Type")) {
		return r, false
	}
	c := *r.Response
	w := &watched{ReadCloser: r.Body, done: func(doc []byte, _ ending, err error) { done(doc, err) }}
	c.Body = w
	exchangeOf(ctx).add(w)
	return Response{&c}, true
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
