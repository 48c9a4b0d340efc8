package chaoshttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Request is what faults and triggers get as the arguments of an HTTP call.
// Only the call reads its body: a fault must leave it alone.
type Request struct {
	*http.Request
	payload *payload // nil: a fault made the request
	server  bool     // it was received
	model   bool     // it is a call of a model
	tool    bool     // it is a call of a tool: see Options.Tools
}

// MarshalJSON writes the request as events keep it: method and URL. Headers,
// query and body may hold secrets and are left out. That of a tool ([Options].Tools) is its body.
func (r Request) MarshalJSON() ([]byte, error) {
	switch {
	case r.Request == nil:
		return []byte("null"), nil
	case r.tool:
		return r.document()
	}
	var u url.URL
	if r.URL != nil {
		u = *r.URL
	}
	u.User, u.RawQuery = nil, ""
	return json.Marshal(struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	}{r.Method, u.String()})
}

// document is the body of a tool's request. Where it is not all that the request asks for, or no
// JSON, the key of the call tells equal requests.
func (r Request) document() ([]byte, error) {
	switch {
	case r.URL != nil && r.URL.RawQuery != "":
		return nil, errors.New("the request has a query")
	case !hasBody(r.Request):
		return []byte("{}"), nil
	case r.payload == nil || !r.payload.all || !json.Valid(r.payload.head):
		return nil, errors.New("the body is not JSON of up to 4 MiB")
	}
	return r.payload.head, nil
}

// UnmarshalJSON returns an error: a request cannot be made from its form in
// events. So a fault that changes arguments as a document, as those of
// hand-offs do, leaves a request as it is.
func (r *Request) UnmarshalJSON([]byte) error {
	return errors.New("an HTTP request is not made of JSON")
}

// A Response is the result of a call, which a fault of [chaos.PhaseChange] may
// change. A status code of 400 or above is not a Response but an error, an
// [*HTTPError]; the caller gets a response for it all the same.
//
// A fault may return JSON instead, as [fault.Replace] does: that becomes a
// response 200 with that body.
type Response struct{ *http.Response }

// MarshalJSON writes the response as events keep it: its status and content
// type. That of a tool ([Options].Tools) is its body.
func (r Response) MarshalJSON() ([]byte, error) {
	if r.Response == nil {
		return []byte("null"), nil
	}
	if r.Request != nil {
		if x := exchangeOf(r.Request.Context()); x != nil && x.tool {
			return r.document()
		}
	}
	return json.Marshal(struct {
		StatusCode  int    `json:"statusCode"`
		ContentType string `json:"contentType,omitempty"`
	}{r.StatusCode, r.Header.Get("Content-Type")})
}

// document is the body of a tool's answer, if it was kept and nothing stands in front of it.
func (r Response) document() ([]byte, error) {
	if r.ContentLength == 0 {
		return []byte("null"), nil
	}
	if t, ok := r.Body.(*tap); ok {
		if d, ok := t.ReadCloser.(*document); ok && json.Valid(d.doc) {
			return d.doc, nil
		}
	}
	return nil, errors.New("the body is not JSON of up to 1 MiB, or a fault acts on it")
}

// mostDocument is how much of a tool's answer is kept, in bytes.
const mostDocument = 1 << 20

// document is a body that was read before its caller reads it.
type document struct {
	whole
	doc []byte // nil: it is longer, or broke off
}

// documentOf reads the body of a tool's answer if it is a JSON document.
func documentOf(r *http.Response) io.ReadCloser {
	kind := r.Header.Get("Content-Type")
	if r.Body == http.NoBody || r.StatusCode == http.StatusSwitchingProtocols || !strings.Contains(kind, "json") ||
		oneByOne(kind) {
		return r.Body
	}
	head, rest, ok := all(r.Body, mostDocument, r.ContentLength)
	d := &document{whole: whole{io.MultiReader(bytes.NewReader(head), rest), r.Body}}
	if ok {
		d.doc = head
	}
	return d
}

// UnmarshalJSON makes a response 200 with the document as its body.
func (r *Response) UnmarshalJSON(doc []byte) error {
	r.Response = answer(http.StatusOK, "200 OK", http.Header{"Content-Type": {"application/json"}}, bytes.Clone(doc))
	return nil
}

// NoDocument returns why a request is no document, for faults that change
// documents, such as those of package chaos/lies: it becomes the note in the
// event. The JSON of a request is only its form in events.
func (r Request) NoDocument() string { return "the arguments are an HTTP request" }

// NoDocument returns why a response is no document. Its body may be one: see
// [Response.OnBody].
func (r Response) NoDocument() string { return "the result is an HTTP response" }

func answer(code int, line string, header http.Header, body []byte) *http.Response {
	length := strconv.Itoa(len(body))
	if said := header["Content-Length"]; len(said) != 1 || said[0] != length {
		header["Content-Length"] = []string{length}
	}
	a := &struct { // in one allocation
		http.Response
		body bytes.Reader
	}{Response: http.Response{
		Status: line, StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		ContentLength: int64(len(body)),
	}}
	a.body.Reset(body)
	a.Body = memory{&a.body}
	return &a.Response
}

func statusLine(code int) string { return strconv.Itoa(code) + " " + http.StatusText(code) }

// statusText is http.StatusText, with the status that Anthropic made up.
func statusText(code int) string {
	if code == statusOverloaded {
		return "Overloaded"
	}
	return http.StatusText(code)
}

const statusOverloaded = 529

// SameAs implements [chaos.Comparer]. A request is known to equal only itself:
// to compare it with others, their bodies would have to be read.
func (r Request) SameAs(other any) (same, known bool) {
	o, ok := other.(Request)
	same = ok && r.Request == o.Request
	return same, same
}

// SameAs implements [chaos.Comparer]. A response is known to equal only itself:
// to compare it with others, their bodies would have to be read.
func (r Response) SameAs(other any) (same, known bool) {
	o, ok := other.(Response)
	same = ok && r.Response == o.Response
	return same, same
}

// An HTTPError is an answer with a status of 400 or above. Faults and events see
// this error; the client sees the response. A function, tool or point into which
// [Status] or [APIError] is injected returns it.
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
func statusOf(err error) *HTTPError {
	status, _ := errors.AsType[*HTTPError](err)
	return status
}
