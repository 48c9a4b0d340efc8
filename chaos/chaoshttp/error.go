package chaoshttp

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// An HTTPError is an answer with a status of 400 or above. Within a call it is
// the error by which events, attempts and changes of results know a failure;
// the client gets the response that it stands for. A function, tool or point
// into which [Status] or [APIError] is injected returns it.
type HTTPError struct {
	StatusCode int
	Header     http.Header // as answered
	Body       []byte      // of an injected answer; nil for a real one, whose body is the caller's to read
	Message    string      // the body's message; empty: none, or not known

	real *http.Response // that a callee returned
	line string         // of the answer; empty: it is made of the code
	own  uint32         // 1: Header is not shared, so the response may take it
}

// Error is the status line and the message.
func (e *HTTPError) Error() string {
	s := strconv.Itoa(e.StatusCode) + " " + statusText(e.StatusCode)
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Timeout reports whether the status is that of a time-out: 408 or 504.
func (e *HTTPError) Timeout() bool {
	return e.StatusCode == http.StatusRequestTimeout || e.StatusCode == http.StatusGatewayTimeout
}

// response is the answer that the client gets.
func (e *HTTPError) response() *http.Response {
	if e.real != nil {
		return e.real
	}
	header := e.Header
	if !atomic.CompareAndSwapUint32(&e.own, 1, 0) {
		header = header.Clone()
	}
	if header == nil {
		header = http.Header{}
	}
	line := e.line
	if line == "" {
		line = statusLine(e.StatusCode)
	}
	return answer(e.StatusCode, line, header, e.Body)
}

// statusOf finds the answer in err; nil: there is none.
func statusOf(err error) (status *HTTPError) {
	if injected, ok := err.(*chaos.InjectedError); ok { // as nearly all are
		if status, ok := injected.Err.(*HTTPError); ok {
			return status
		}
	}
	if errors.As(err, &status) {
		return status
	}
	return nil
}
