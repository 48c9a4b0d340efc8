package chaoshttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

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
	s := &spoiled{body: r.Body, end: end, from: from.Response}
	s.ctx, s.cancel = context.WithCancel(late)
	s.reader = reader(s, r.Body)
	changed := *r.Response
	changed.Body = s
	s.to = &changed
	if x := exchangeOf(ctx); x != nil {
		if len(s.headerAs(s.to)) > 0 {
			_, s.shown = chaos.KeepOpen(ctx) // the body may end before the client has the header
		}
		x.add(s)
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
		ch = append(ch,
			chaos.Change{Path: "/status", Before: number(int64(s.from.StatusCode)),
				After: number(int64(s.to.StatusCode))})
	}
	// Readers of an event stream go by its events, not by its length.
	if before, after := size(s.from), size(s.to); before != after && size(got) == after && !isStream(s.from.Header) {
		ch = append(ch, chaos.Change{Path: "/Content-Length", Before: shownSize(before), After: shownSize(after)})
	}
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		before, after := s.from.Header.Get(name), s.to.Header.Get(name)
		if before != after && got.Header.Get(name) == after {
			ch = append(ch, chaos.Change{Path: "/" + name, Before: orNothing(before), After: orNothing(after)})
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
		case *watched:
			body = b.ReadCloser
		case *whole:
			body = b.from
		case *original:
			body = b.ReadCloser
		case *owner:
			body = b.ReadCloser
		case memory:
			return false
		default:
			return true
		}
	}
}

// size is the stated length of a response; -1: it has none. In a response made
// by hand 0 may mean either.
func size(r *http.Response) int64 {
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" {
		return -1
	}
	return r.ContentLength
}

func shownSize(n int64) json.RawMessage {
	if n < 0 {
		return nil
	}
	return number(n)
}

func orNothing(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return text(s)
}

// changed declares that what the caller reads differs from what was sent.
func (s *spoiled) changed(ch ...chaos.Change) { chaos.Changed(s.ctx, ch...) }

// note adds a sentence to the event.
func (s *spoiled) note(text string) { chaos.Note(s.ctx, text) }

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
