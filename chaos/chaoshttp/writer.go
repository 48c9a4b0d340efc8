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
