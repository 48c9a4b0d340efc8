package chaoshttp

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// writer is the response writer of a [Server]'s handler. Only the handler's
// goroutine uses it, up to the channel ready.
type writer struct {
	header  http.Header
	code    int // 0: not written
	head    bool
	pending []byte        // written before the header was sent
	ready   chan struct{} // closed when sent or failed is set
	once    sync.Once
	failed  error // the answer of a handler that ended without one
	sent    http.Header
	length  int64 // declared; -1: none was
	written int64
	body    *pipe
}

// headerRoom is how much of a body waits for its header, as in net/http.
const headerRoom = 2048

func newWriter(head bool) *writer {
	return &writer{header: http.Header{}, head: head, ready: make(chan struct{}), length: -1, body: newPipe()}
}

// Header is the answer's header, to be changed before it is written.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader sets the status, once; an informational one is ignored.
func (w *writer) WriteHeader(code int) {
	if w.code != 0 || code < http.StatusOK && code != http.StatusSwitchingProtocols {
		return
	}
	w.code = code
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
	w.sent = w.header.Clone()
}

// Write writes to the body, within its declared length.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case len(b) == 0:
		return 0, nil
	case !bodyAllowed(w.code):
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += int64(len(b)); w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength // the answer stays short: refused bytes count, as in net/http
	}
	if !w.isSent() {
		w.pending = append(w.pending, b...)
		if len(w.pending) > headerRoom {
			return len(b), w.FlushError()
		}
		return len(b), nil
	}
	return w.put(b)
}

// put is Write after the header.
func (w *writer) put(b []byte) (int, error) {
	if w.head {
		return len(b), nil
	}
	return w.body.Write(b)
}

// Flush sends what was written.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is Flush, as http.ResponseController asks for it.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if !w.isSent() {
		w.send(w.length)
	}
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.put(w.pending)
	w.pending = nil
	return err
}

// EnableFullDuplex does nothing: it is always enabled.
func (w *writer) EnableFullDuplex() error { return nil }

func (w *writer) isSent() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// send passes the header to the client. Later changes of it are not seen.
func (w *writer) send(length int64) {
	if _, set := w.sent["Content-Type"]; !set && len(w.pending) > 0 && w.sent.Get("Content-Encoding") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(w.pending))
	}
	if _, set := w.sent["Date"]; !set {
		w.sent.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	if w.length = length; length >= 0 && w.sent.Get("Content-Length") == "" && bodyAllowed(w.code) {
		w.sent.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	w.once.Do(func() { close(w.ready) })
}

// finish ends the answer: orderly, or after a panic.
func (w *writer) finish(orderly bool) {
	if !orderly {
		if !w.isSent() {
			w.failed = io.EOF // the connection closes without an answer
			w.once.Do(func() { close(w.ready) })
		}
		if w.head {
			w.body.end(io.EOF)
		}
		w.body.end(io.ErrUnexpectedEOF)
		return
	}
	w.WriteHeader(http.StatusOK)
	declared := w.length
	if !w.isSent() {
		if declared < 0 && (!w.head || len(w.pending) > 0) {
			declared = int64(len(w.pending))
		}
		w.send(declared)
	}
	_ = w.FlushError()
	if !w.head && declared >= 0 && declared != w.written && bodyAllowed(w.code) {
		w.body.end(io.ErrUnexpectedEOF)
		return
	}
	w.body.end(io.EOF)
}

// response is the answer as the client gets it, without its body.
func (w *writer) response(r *http.Request) *http.Response {
	resp := &http.Response{
		Status: strconv.Itoa(w.code) + " " + http.StatusText(w.code), StatusCode: w.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, ContentLength: w.length, Request: r,
	}
	switch {
	case !bodyAllowed(w.code) && !w.head:
		resp.ContentLength = 0
	case w.length < 0 && !w.head:
		resp.TransferEncoding = []string{"chunked"}
	}
	return resp
}

// bodyAllowed is the rule of RFC 9110, section 6.4.1.
func bodyAllowed(code int) bool {
	return code >= http.StatusOK && code != http.StatusNoContent && code != http.StatusNotModified
}

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
