// Package chaosio makes an injection point of an [io.Reader]: the body of a
// response, a file, the output of a process.
//
//	body = chaosio.NewReader(ctx, "download", body, nil) // in the program
//
//	chaos.Rule{Target: "download", Fault: fault.CutAfter(3)} // in the test
//
// # Chunks
//
// The reader is a stream of chunks, so all faults that act on
// [chaos.WrapStream] act on it: those of whole streams (slow, cut, stalled,
// doubled, reordered, malformed) and the others (delays, failures, changes, lost
// replies). A chunk is what one Read of the wrapped reader returned, a []byte
// of at most [Options.Chunk] bytes. Its size depends on the source: a file comes
// in full chunks, a network connection in whatever arrived.
//
// One reader, from its first Read to its end or its Close, is one call.
//
// # Costs
//
// Without an injector in the context the wrapped reader is used as it is. With
// one, reads are those of the reader if at the first Read no rule acts on the call and it is
// not recorded. Else each chunk is copied once, and reads switch to a coroutine and back
// (package iter). The coroutine ends with the stream, or by Close. So close a
// reader that was begun, or read it to its end.
//
// Stability: may change.
package chaosio

import (
	"context"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// Options are the settings of [NewReader]; the zero value works.
type Options struct {
	_ struct{}
	// Chunk is the largest number of bytes of a chunk. 0 or less: 4096.
	Chunk int
}

const defaultChunk = 4096

// NewReader makes an injection point of a reader, which must not be nil. o may
// be nil. Without an injector, Read and Close are those of r.
//
// Waits of faults end with ctx, and by Close. Close closes r if it is an
// [io.Closer]. It may be called during a Read, if r allows that for its own
// methods. Reads must not be concurrent. After Close they fail with
// [io.ErrClosedPipe]. An error of r, or of a fault, ends the stream: later
// reads return it again. After a panic of r they fail with
// [io.ErrUnexpectedEOF].
func NewReader(ctx context.Context, target string, r io.Reader, o *Options) io.ReadCloser {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Chunk <= 0 {
		opts.Chunk = defaultChunk
	}
	in := chaos.FromContext(ctx)
	if in == nil {
		return plain{r}
	}
	ctx, cancel := context.WithCancel(ctx)
	return &reader{plain: plain{r}, ctx: ctx, cancel: cancel, in: in, target: target, opts: opts}
}

// chunks reads r chunk by chunk. Each is a slice of its own, because faults may
// keep it.
func (o Options) chunks(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, o.Chunk)
		for {
			n, err := r.Read(buf)
			if n > 0 && !yield(append([]byte(nil), buf[:n]...), nil) {
				return
			}
			if err != nil {
				if err != io.EOF {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// reader serves Reads from chunks.
type reader struct {
	plain  plain
	ctx    context.Context
	cancel context.CancelFunc // ends waits
	in     *chaos.Injector
	target string
	opts   Options

	closed atomic.Bool // not guarded by mu, which a waiting Read holds during Close

	mu       sync.Mutex // held during a Read: next and stop must not run at once
	begun    bool
	crossing chaos.Crossing               // of the call, from the first Read on
	next     func() ([]byte, error, bool) // nil, and stop is too: no fault acts, and reads are those of plain
	stop     func()
	rest     []byte
	err      error // by which the stream ended; nil: it has not
}

// begin begins the call. If no fault acts on it, nothing is copied.
func (b *reader) begin() {
	b.begun = true
	b.crossing = b.in.Arrive(b.ctx, b.target, "", chaos.LayerStream, false)
	if b.crossing.Match(0, struct{}{}); b.crossing.PassesThrough() {
		return
	}
	again := false
	chunks := chaos.WrapStreamWith(b.target, func(context.Context, struct{}) iter.Seq2[[]byte, error] {
		if again {
			return func(yield func([]byte, error) bool) { yield(nil, readOnce{}) }
		}
		again = true
		return b.opts.chunks(b.plain)
	}, &chaos.WrapOptions[struct{}]{Crossing: &b.crossing})
	b.next, b.stop = iter.Pull2(chunks(b.ctx, struct{}{}))
}

// readOnce is what a fault gets that executes the call again: nothing is read again.
type readOnce struct{}

func (readOnce) Error() string { return "chaosio: a reader is read once" }
func (readOnce) Unsent() bool  { return true }

// through reads without faults.
func (b *reader) through(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.err = io.ErrUnexpectedEOF // stays if the reader panics: a later Read must not return io.EOF
	n, err := b.plain.Read(p)
	if b.err = err; err != nil {
		b.passed()
	}
	return n, err
}

// passed ends a call on which no fault acts.
func (b *reader) passed() {
	if b.err == io.EOF {
		b.crossing.Passed(0, nil)
	} else {
		b.crossing.Passed(0, b.err)
	}
	b.cancel()
}

// Read returns the rest of the current chunk, or of the next one.
func (b *reader) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	if !b.begun && len(p) > 0 {
		b.begin()
	}
	if b.begun && b.next == nil {
		return b.through(p)
	}
	for len(b.rest) == 0 && b.err == nil && len(p) > 0 {
		b.pull()
	}
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, b.err
}

func (b *reader) pull() {
	b.err = io.ErrUnexpectedEOF // stays if r panics: a later Read must not return io.EOF
	chunk, err, more := b.next()
	b.err = nil
	switch {
	case !more:
		b.err = io.EOF
	case err != nil:
		b.err = err
	default:
		b.rest = chunk
		return
	}
	b.stop()
	b.cancel()
}

// Close ends the stream, and a Read that waits.
func (b *reader) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.cancel()
	err := b.plain.Close() // first: a Read may be waiting for the source
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stop != nil:
		b.stop()
	case b.begun && b.err == nil:
		b.passed()
	}
	return err
}

// plain adds Close to a reader, which is closed if it is an io.Closer.
type plain struct{ io.Reader }

func (p plain) Close() error {
	if c, ok := p.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
