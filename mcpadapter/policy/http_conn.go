package policy

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

func mayHaveBody(req *http.Request) bool {
	return req.Body != nil && req.Body != http.NoBody
}

// A timedBody ends the deadline of a body once it has been read. After that the
// connection is watched only for its end, however long the answer takes.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// A timedWriter gives each write a deadline of its own: an answer may be a
// stream of hours, whose reader must keep reading.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration

	endpoint func(id string) // called with the session of server-sent events; nil: the request opens none
	head     []byte          // of the stream, until the session is known
	forget   func()
}

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *timedWriter) begin() { _ = w.control.SetWriteDeadline(time.Now().Add(w.each)) }

func (w *timedWriter) Write(p []byte) (int, error) {
	if w.endpoint != nil {
		w.look(p)
	}
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Flush is for http.Flusher.
func (w *timedWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *timedWriter) FlushError() error {
	w.begin()
	return w.control.Flush()
}

// maxHead is more than the first event of a stream has, in bytes.
const maxHead = 4 << 10

// look finds the session in the first event of a stream, which has the URL for
// the client's messages. So the session is known before the client uses it.
func (w *timedWriter) look(p []byte) {
	w.head = append(w.head, p[:min(len(p), maxHead)]...)
	event, _, whole := bytes.Cut(w.head, []byte("\n\n"))
	if !whole && len(w.head) < maxHead {
		return
	}
	found := w.endpoint
	w.endpoint, w.head = nil, nil
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") ||
		!bytes.HasPrefix(event, []byte("event: endpoint\n")) {
		return
	}
	for line := range strings.Lines(string(event)) {
		if place, ok := strings.CutPrefix(line, "data: "); ok {
			if u, err := url.Parse(strings.TrimSpace(place)); err == nil && u.Query().Get("sessionid") != "" {
				found(u.Query().Get("sessionid"))
			}
		}
	}
}

func (w *timedWriter) leave() {
	if w.forget != nil {
		w.forget()
	}
}
