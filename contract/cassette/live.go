package cassette

import (
	"context"
	"io"
	"net/http"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// answer waits for the answer of the call and returns it to a client, which is one of the take's readers.
func (t *take) answer(r *http.Request) (*http.Response, error) {
	b := &liveBody{take: t, ctx: r.Context(), closed: make(chan struct{})}
	mu := &t.studio.mu
	mu.Lock()
	defer mu.Unlock()
	for t.head == nil && !t.done {
		if err := b.wait(); err != nil {
			b.leave()
			return nil, err
		}
	}
	if t.head == nil {
		b.leave()
		return nil, t.err
	}
	resp := *t.head
	resp.Header, resp.Body, resp.Request, resp.Trailer = t.head.Header.Clone(), b, r, nil
	return &resp, nil
}

// A liveBody reads the body of a take while it comes. Its fields are guarded by studio.mu.
type liveBody struct {
	take   *take
	ctx    context.Context
	closed chan struct{} // of the reader's bubble
	over   bool
	chunk  int
	at     int // in the chunk
	pos    int // in the body
}

// wait waits until something has changed; studio.mu is held before and after, not meanwhile.
func (b *liveBody) wait() error {
	more := b.take.more
	b.take.studio.mu.Unlock()
	defer b.take.studio.mu.Lock()
	select {
	case <-more:
		return nil
	case <-b.closed:
		return http.ErrBodyReadAfterClose
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
}

func (b *liveBody) Read(p []byte) (int, error) {
	t := b.take
	t.studio.mu.Lock()
	defer t.studio.mu.Unlock()
	for {
		switch {
		case b.over:
			return 0, http.ErrBodyReadAfterClose
		case b.ctx.Err() != nil:
			return 0, context.Cause(b.ctx)
		case b.chunk < len(t.chunks):
			return b.copy(p), nil
		case t.done && t.err != nil:
			return 0, t.err
		case t.done:
			return 0, io.EOF
		}
		if err := b.wait(); err != nil {
			return 0, err
		}
	}
}

func (b *liveBody) copy(p []byte) int {
	t := b.take
	data := t.chunks[b.chunk].Data
	n := copy(p, data[b.at:])
	b.at += n
	b.pos += n
	if b.at == len(data) {
		b.chunk, b.at = b.chunk+1, 0
	}
	t.consumed = max(t.consumed, b.pos)
	t.settle()
	return n
}

func (b *liveBody) Close() error {
	b.take.studio.mu.Lock()
	defer b.take.studio.mu.Unlock()
	if !b.over {
		close(b.closed)
		b.leave()
	}
	return nil
}

// leave ends the reading; studio.mu is held.
func (b *liveBody) leave() {
	t := b.take
	b.over = true
	if t.readers--; t.readers > 0 {
		return
	}
	if !t.done && !t.read() {
		t.abandon()
	}
	t.settle()
}

// exchange is the answer as the tape will have it.
func (t *take) exchange() (r *tape.Response, err error) {
	defer usercode.Recover(&err, "cassette: Redact")
	r = &tape.Response{
		Status: t.head.StatusCode, Header: tape.KeepHeader(t.head.Header), After: t.after,
		Chunks: append([]tape.Chunk(nil), t.chunks...),
	}
	r.Frame()
	if redact := t.studio.settings.Redact; redact != nil {
		r.Redact(func(doc []byte) []byte { return redact(t.target, doc) })
	}
	return r, nil
}
