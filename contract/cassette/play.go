package cassette

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
)

// play returns a recorded answer to r.
func (s *settings) play(r *http.Request, a *tape.Response) (*http.Response, error) {
	b := &playedBody{ctx: r.Context(), chunks: a.Chunks}
	if s.Pauses {
		b.closed = make(chan struct{}) // made here, so that a bubble's clock may advance
		if err := b.pause(a.After); err != nil {
			return nil, err
		}
	}
	resp := &http.Response{
		Status:        strconv.Itoa(a.Status) + " " + http.StatusText(a.Status),
		StatusCode:    a.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.Header.Clone(),
		Body:          b,
		ContentLength: -1,
		Request:       r,
	}
	if resp.Header == nil {
		resp.Header = make(http.Header)
	}
	switch len(a.Chunks) {
	case 0:
		resp.ContentLength = 0
	case 1:
		resp.ContentLength = int64(len(a.Chunks[0].Data))
	}
	return resp, nil
}

// A playedBody gives one chunk a Read, as they came.
type playedBody struct {
	ctx    context.Context
	chunks []tape.Chunk
	at     int // in the first chunk
	over   atomic.Bool
	once   sync.Once
	closed chan struct{} // closed by Close; nil: there are no pauses
}

func (b *playedBody) Read(p []byte) (int, error) {
	if b.over.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if len(b.chunks) == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	c := &b.chunks[0]
	if b.at == 0 && b.closed != nil {
		if err := b.pause(c.After); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.Data[b.at:])
	if b.at += n; b.at == len(c.Data) {
		b.chunks, b.at = b.chunks[1:], 0
	}
	return n, nil
}

// pause waits unless the client gives up.
func (b *playedBody) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-b.closed:
		return http.ErrBodyReadAfterClose
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
}

func (b *playedBody) Close() error {
	b.over.Store(true)
	if b.closed != nil {
		b.once.Do(func() { close(b.closed) })
	}
	return nil
}
