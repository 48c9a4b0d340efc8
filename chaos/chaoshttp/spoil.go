package chaoshttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// spoil puts a reader in front of a response's body. The call is settled when
// the body ends: at EOF, at an error, or when it is closed. Until then the
// reader tells its spoiled of what it does to the body; a reader that did
// nothing was not delivered.
func spoil(ctx context.Context, r Response, reader func(s *spoiled, body io.Reader) io.Reader) Response {
	late, end := chaos.Outlast(ctx)
	s := &spoiled{body: r.Body, end: end}
	s.ctx, s.cancel = context.WithCancel(late)
	s.reader = reader(s, r.Body)
	changed := *r.Response
	changed.Body = s
	s.from, s.to = r.Response, &changed
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

// Close ends the call, and waits of the fault.
func (s *spoiled) Close() error {
	s.closed.Store(true)
	s.cancel()
	err := s.body.Close()
	_ = s.end(nil, false)
	return err
}

// changed says that what the caller reads differs from what was sent.
func (s *spoiled) changed(ch ...chaos.Change) { chaos.Changed(s.ctx, ch...) }

// note adds a sentence to the event.
func (s *spoiled) note(text string) { chaos.Note(s.ctx, text) }

// fail marks an error as made by the fault: the reader returns it from Read.
func (s *spoiled) fail(err error) error {
	s.made = err
	return err
}

// sleep waits for d, negative: without end. calm: the injector was disarmed,
// and the rest of the body is to pass as it is. A wait counts as a change.
func (s *spoiled) sleep(d time.Duration) (calm bool, err error) {
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
