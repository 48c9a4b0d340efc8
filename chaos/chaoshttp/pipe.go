package chaoshttp

import (
	"io"
	"sync"
)

// pipe carries a body from a handler to its reader, with room for what the
// buffers of a connection would hold. A client that is a little behind does not
// hold up the handler; a client that does not read does.
type pipe struct {
	mu     sync.Mutex
	moved  *sync.Cond // something was written, read or ended
	buf    []byte
	ended  error // what the reader gets behind the buffer; nil: more may come
	closed bool  // the reader is gone
}

const pipeRoom = 64 << 10

func newPipe() *pipe {
	p := &pipe{}
	p.moved = sync.NewCond(&p.mu)
	return p
}

// Write blocks while the buffer is full.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for len(p.buf) >= pipeRoom && p.ended == nil && !p.closed {
			p.moved.Wait()
		}
		if p.ended != nil || p.closed {
			return n, io.ErrClosedPipe
		}
		room := min(len(b), pipeRoom-len(p.buf))
		p.buf = append(p.buf, b[:room]...)
		b, n = b[room:], n+room
		p.moved.Broadcast()
	}
	return n, nil
}

// end ends the body; only the first call counts.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		p.moved.Broadcast()
	}
}

// cut ends the body and discards what was not yet read.
func (p *pipe) cut(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil || p.ended == io.EOF && len(p.buf) > 0 {
		p.buf, p.ended = nil, err
		p.moved.Broadcast()
	}
}

// Read blocks until there is something to read, or the end.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && p.ended == nil && !p.closed && len(b) > 0 {
		p.moved.Wait()
	}
	switch {
	case p.closed:
		return 0, errReadAfterClose
	case len(p.buf) > 0:
		n := copy(b, p.buf)
		p.buf = p.buf[:copy(p.buf, p.buf[n:])]
		p.moved.Broadcast()
		return n, nil
	case p.ended != nil:
		return 0, p.ended
	}
	return 0, nil
}

// close is called by the reader.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.moved.Broadcast()
}
