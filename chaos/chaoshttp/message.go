package chaoshttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
)

// A Request is what faults and triggers get as the arguments of an HTTP call.
// Only the call reads its body: a fault must leave it alone.
type Request struct {
	*http.Request
	payload *payload // nil: a fault made the request
	server  bool     // it was received
}

// MarshalJSON writes the request as events keep it: method and URL. Headers,
// query and body may hold secrets and are left out.
func (r Request) MarshalJSON() ([]byte, error) {
	if r.Request == nil {
		return []byte("null"), nil
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
// type.
func (r Response) MarshalJSON() ([]byte, error) {
	if r.Response == nil {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		StatusCode  int    `json:"statusCode"`
		ContentType string `json:"contentType,omitempty"`
	}{r.StatusCode, r.Header.Get("Content-Type")})
}

// UnmarshalJSON makes a response 200 with the document as its body.
func (r *Response) UnmarshalJSON(doc []byte) error {
	r.Response = answer(http.StatusOK, "200 OK", http.Header{"Content-Type": {"application/json"}}, bytes.Clone(doc))
	return nil
}

// answer makes a response of a finite body.
func answer(code int, line string, header http.Header, body []byte) *http.Response {
	length := strconv.Itoa(len(body))
	if said := header["Content-Length"]; len(said) != 1 || said[0] != length {
		header["Content-Length"] = []string{length}
	}
	a := &struct { // in one allocation
		http.Response
		body bytes.Reader
	}{Response: http.Response{
		Status: line, StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: int64(len(body)),
	}}
	a.body.Reset(body)
	a.Body = memory{&a.body}
	return &a.Response
}

// statusLine is the status of an answer as a client gets it: code and text.
func statusLine(code int) string { return strconv.Itoa(code) + " " + http.StatusText(code) }

// statusText is http.StatusText, with the status that Anthropic made up.
func statusText(code int) string {
	if code == statusOverloaded {
		return "Overloaded"
	}
	return http.StatusText(code)
}

const statusOverloaded = 529
