package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// tap is a body that keeps the beginning of what is read of it. Only its first Close
// reaches the body behind it.
type tap struct {
	io.ReadCloser
	like  http.Response // the answer that it came with, as it was then
	most  int           // how much is kept, in bytes
	ended func()        // called once, when it was read to its end or closed; nil: nobody waits

	closed atomic.Bool
	once   sync.Once
	mu     sync.Mutex // guards what follows: Close may come while a Read waits
	doc    []byte
	size   int64 // of what was read
	end    error // by which reading ended; nil: it did not
}

func newTap(r *http.Response, most int) *tap {
	t := &tap{ReadCloser: r.Body, like: *r, most: most}
	if t.like.Header = r.Header.Clone(); r.Body == nil || r.Body == http.NoBody {
		t.ReadCloser, t.end = http.NoBody, io.EOF
	}
	return t
}

func (t *tap) Read(p []byte) (int, error) {
	if _, _, end := t.kept(); end != nil {
		return 0, end
	}
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	t.doc = append(t.doc, p[:min(n, t.most-len(t.doc))]...)
	t.size, t.end = t.size+int64(n), err
	t.mu.Unlock()
	if err != nil {
		t.over()
	}
	return n, err
}

func (t *tap) Close() (err error) {
	if !t.closed.Swap(true) {
		err = t.ReadCloser.Close()
	}
	t.over()
	return err
}

func (t *tap) over() {
	if t.ended != nil {
		t.once.Do(t.ended)
	}
}

// kept is what was read so far; all is false if that was more than is kept.
func (t *tap) kept() (doc []byte, all bool, end error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doc, t.size == int64(len(t.doc)), t.end
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func failing(err error) io.Reader { return readFunc(func([]byte) (int, error) { return 0, err }) }

// memory is a body without a connection.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// whole is a body that is served from what was read of another one.
type whole struct {
	io.Reader
	from io.ReadCloser
}

func (w *whole) Close() error { return w.from.Close() }

// spoil puts a reader in front of a response's body. The call ends when the
// body ends: at EOF, at an error, or when it is closed. Until then the reader
// declares to its spoiled what it does to the body; without a change the fault
// is not delivered.
//
// from is the response as the callee gave it; r may have another header. A
// changed header is delivered when the client gets it, whether the body is read
// or not.
func spoil(ctx context.Context, from, r Response, reader func(s *spoiled, body io.Reader) io.Reader) Response {
	late, end := chaos.KeepOpen(ctx)
	changed := *r.Response
	s := &spoiled{body: r.Body, end: end, from: from.Response, to: &changed}
	s.ctx, s.cancel = context.WithCancel(late)
	s.reader, changed.Body = reader(s, r.Body), s
	if exchangeOf(ctx) != nil && len(s.headerAs(s.to)) > 0 {
		_, s.shown = chaos.KeepOpen(ctx) // the body may end before the client has the header
	}
	return Response{&changed}
}

// spoiled is the body of a response that a fault spoils while it is read. The
// reader behind it runs in the goroutine that reads, one Read at a time.
type spoiled struct {
	ctx    context.Context // ends with the request, and when the body is closed
	cancel context.CancelFunc
	body   io.ReadCloser
	reader io.Reader
	end    func(err error, made bool) error
	made   error // by the reader, by calling fail
	closed atomic.Bool
	// shown ends the wait for the header to be shown; nil: it is not changed.
	shown func(err error, made bool) error
	// At the end of the one response its trailers are there, for the other as well.
	from, to *http.Response

	mu   sync.Mutex // held by Read
	last error
}

// Read reads what the fault leaves of the body.
func (s *spoiled) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed.Load():
		return 0, errReadAfterClose
	case s.last != nil:
		return 0, s.last
	}
	n, err := s.reader.Read(p)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF:
		if s.to.Trailer == nil {
			s.to.Trailer = s.from.Trailer
		}
		_ = s.end(nil, false)
	default:
		err = s.end(err, s.made != nil)
	}
	s.last = err
	s.cancel() // nothing waits any more
	return n, err
}

// Close ends the call, and the fault's waits.
func (s *spoiled) Close() error {
	s.closed.Store(true)
	s.cancel()
	err := s.body.Close()
	_ = s.end(nil, false)
	return err
}

// showHeader declares the changes of the header, if the client gets it as the
// fault made it. got is nil if the client gets none of it.
func (s *spoiled) showHeader(got *http.Response) {
	if s.shown == nil {
		return
	}
	if got != nil && inFront(got.Body, s) { // else the answer was replaced further out
		if ch := s.headerAs(got); len(ch) > 0 {
			s.changed(ch...)
		}
	}
	_ = s.shown(nil, false)
}

// headerAs returns the changes of the header that got shows.
func (s *spoiled) headerAs(got *http.Response) (ch []chaos.Change) {
	if s.to.StatusCode != s.from.StatusCode && got.StatusCode == s.to.StatusCode {
		ch = append(ch, chaos.Change{Path: "/status", Before: number(int64(s.from.StatusCode)),
			After: number(int64(s.to.StatusCode))})
	}
	// Readers of an event stream go by its events, not by its length.
	if before, after := size(s.from), size(s.to); before != after && size(got) == after && !isStream(s.from.Header) {
		ch = append(ch, chaos.Change{Path: "/Content-Length", Before: number(before), After: number(after)})
	}
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		before, after := s.from.Header.Get(name), s.to.Header.Get(name)
		if before != after && got.Header.Get(name) == after {
			c := chaos.Change{Path: "/" + name}
			if before != "" {
				c.Before = encode(before)
			}
			if after != "" {
				c.After = encode(after)
			}
			ch = append(ch, c)
		}
	}
	return ch
}

// inFront reports whether a body reads from s. A body of another type, made by
// another fault, is assumed to do so.
func inFront(body io.Reader, s *spoiled) bool {
	for {
		switch b := body.(type) {
		case *spoiled:
			if b == s {
				return true
			}
			body = b.body
		case *tap:
			body = b.ReadCloser
		case *whole:
			body = b.from
		case memory:
			return false
		default:
			return true
		}
	}
}

func (s *spoiled) changed(ch ...chaos.Change) { chaos.Changed(s.ctx, ch...) }

// fail marks an error as made by the fault: the reader returns it from Read.
func (s *spoiled) fail(err error) error {
	s.made = err
	return err
}

// sleep waits for d; negative: without end. disarmed reports whether the injector
// was disarmed, so that the rest of the body must pass as it is. A wait counts
// as a change.
func (s *spoiled) sleep(d time.Duration) (disarmed bool, err error) {
	if d >= 0 && rehearsalOf(s.ctx) != nil {
		return false, nil
	}
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	err = chaos.Sleep(s.ctx, d)
	if errors.Is(err, chaos.ErrDisarmed) {
		return true, nil
	}
	if d != 0 {
		s.changed()
	}
	return false, err
}

// serve reads a document that is not the one that was sent, and declares so once the
// byte was read that makes the difference: that at mark, or the end.
func (s *spoiled) serve(doc []byte, mark int, what ...chaos.Change) io.Reader {
	off, declared := 0, false
	return readFunc(func(p []byte) (int, error) {
		n := copy(p, doc[off:])
		off += n
		over := off == len(doc) && n == 0 && len(p) > 0
		if !declared && (off > mark || over) {
			declared = true
			s.changed(what...)
		}
		if over {
			return 0, io.EOF
		}
		return n, nil
	})
}

func copied(r Response) Response {
	c := *r.Response
	if c.Header = r.Header.Clone(); c.Header == nil {
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
	c := copied(r)
	c.ContentLength = -1
	c.Header.Del("Content-Length")
	return c
}

func sized(r Response, n int64) Response {
	c := copied(r)
	c.ContentLength, c.TransferEncoding = n, nil
	c.Header.Set("Content-Length", strconv.FormatInt(n, 10))
	return c
}

// size is the stated length of a response; -1: it has none. In a response made
// by hand 0 may mean either.
func size(r *http.Response) int64 {
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" {
		return -1
	}
	return r.ContentLength
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

// oneByOne reports whether a content type is that of a stream of documents or
// events.
func oneByOne(kind string) bool {
	return slices.ContainsFunc([]string{"event-stream", "ndjson", "jsonl", "json-seq"},
		func(stream string) bool { return strings.Contains(kind, stream) })
}

// number is a size as JSON; nil for -1: there is none.
func number(n int64) json.RawMessage {
	if n < 0 {
		return nil
	}
	return strconv.AppendInt(nil, n, 10)
}
