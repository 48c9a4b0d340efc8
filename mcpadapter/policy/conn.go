package policy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// mayHaveBody reports whether bytes may follow the request's header.
func mayHaveBody(req *http.Request) bool {
	return req.Body != nil && req.Body != http.NoBody
}

// A timedBody ends the deadline of a body once it has been read. After that the
// connection is watched only for its end, however long the answer takes.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	ids     *idScanner
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ids.Write(p[:n])
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
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") || !bytes.HasPrefix(event, []byte("event: endpoint\n")) {
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

// leave forgets the session with its stream.
func (w *timedWriter) leave() {
	if w.forget != nil {
		w.forget()
	}
}

// address returns where a request came from, without the port: the /64 for
// IPv6, because a caller has a whole one.
func address(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return (&net.IPNet{IP: ip.Mask(net.CIDRMask(64, 128)), Mask: net.CIDRMask(64, 128)}).String()
}

// logins counts the failed logins of each address.
type logins struct {
	limiter *limiter

	mu     sync.Mutex
	silent map[string]bool // addresses whose refusals are in the audit log already
}

func loginKey(from string) bucketKey { return bucketKey{"login", from} }

// refusal refuses an address with too many failed logins.
func (l *logins) refusal(from string, limit *Limit, now time.Time) *Error {
	l.limiter.mu.Lock()
	defer l.limiter.mu.Unlock()
	b, ok := l.limiter.buckets[loginKey(from)]
	if !ok {
		return nil
	}
	l.limiter.get(loginKey(from), limit, now)
	if b.refusal(limit, "", "") == nil {
		l.mu.Lock()
		delete(l.silent, from)
		l.mu.Unlock()
		return nil
	}
	return &Error{Status: http.StatusTooManyRequests, Code: CodeTooManyLogins, Detail: fmt.Sprintf("too many requests without a valid token from %s", from),
		Hint: "wait, and send the header Authorization: Bearer with the server's token"}
}

func (l *logins) failed(from string, limit *Limit, now time.Time) {
	l.limiter.mu.Lock()
	defer l.limiter.mu.Unlock()
	l.limiter.get(loginKey(from), limit, now).spend()
}

// first reports whether this is the first such refusal of an address. Only that
// one gets an audit line: an attacker must not fill the disk.
func (l *logins) first(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent == nil || len(l.silent) >= maxBuckets {
		l.silent = make(map[string]bool)
	}
	before := l.silent[from]
	l.silent[from] = true
	return !before
}
