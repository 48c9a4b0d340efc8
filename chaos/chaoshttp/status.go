package chaoshttp

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// StatusOptions are the settings of [Status] and [APIError]; the zero value
// works.
type StatusOptions struct {
	_ struct{}
	// RetryAfter is sent in the header of that name, in seconds, rounded up
	// (RFC 9110, section 10.2.3); 0: it is not sent.
	RetryAfter time.Duration `json:"retryAfter,omitempty" bounds:"min=0" doc:"sent in the header of that name"`
	// RetryDate sends RetryAfter as a date: the moment at which it is over.
	RetryDate bool `json:"retryDate,omitempty" doc:"it is sent as a date, not as seconds"`
	// Header is sent besides; its values replace those of the fault.
	Header http.Header `json:"header,omitempty" doc:"sent besides"`
	// Body is sent as it is; empty: the text of the status, or the body of the
	// API. Its content type is that of Header, or else detected.
	Body string `json:"body,omitempty" doc:"sent as it is; left out: the usual one"`
}

// Status answers a call with a status code from 400 to 599; the callee is not
// reached. A client gets the response; a function, tool or other point gets the
// [*HTTPError]. o may be nil.
//
// Quotas and expiry are triggers: with when.After(n) a 429 is a quota of n
// calls, and a 401 an authentication that expires after n.
func Status(code int, o *StatusOptions) chaos.Fault {
	return status.Of(statusParams{Code: code, StatusOptions: o.copied()})
}

func (o *StatusOptions) copied() (c StatusOptions) {
	if o != nil {
		c = *o
		c.Header = o.Header.Clone()
	}
	return c
}

type statusParams struct {
	Code int `json:"code" bounds:"min=400,max=599" allowed:"a status code from 400 to 599" doc:"the status"`
	StatusOptions
	line string // of the answer
}

func (p statusParams) Check(c *catalog.Check) { p.check(c) }

// Coordinates has the persistence of the code.
func (p statusParams) Coordinates(d *chaos.Description) { d.Persistence = persistence(p.Code) }

var status = &catalog.Fail[statusParams]{
	Row: catalog.Row{
		Kind: "http_status", Doc: "The server answers with a status.",
		Go: "chaoshttp.Status(code, o)", Example: `{"code":503,"retryAfter":"10s"}`,
		Class: chaos.ClassCrash,
	},
	Prepare: func(p statusParams) statusParams {
		p.StatusOptions, p.line = p.copied(), statusLine(p.Code)
		return p
	},
	Fail: func(_ chaos.Call, p statusParams) error {
		m := newFailure(p.Code, p.line)
		if p.Body == "" {
			m.Body = append(append(m.room[:0], http.StatusText(p.Code)...), '\n')
			m.set("Content-Type", "text/plain; charset=utf-8")
		}
		return m.finish(&p.StatusOptions)
	},
}

func (o *StatusOptions) check(c *catalog.Check) {
	for _, name := range slices.Sorted(maps.Keys(o.Header)) {
		bad := name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) ||
			strings.ContainsAny(strings.Join(o.Header[name], ""), "\r\n\x00")
		c.That(!bad, "header", name, "names and values that a header can have (RFC 9110, section 5)")
	}
	c.That(!o.RetryDate || o.RetryAfter > 0, "retryDate", o.RetryDate, "false, or a retryAfter of more than 0")
}

// wait is RetryAfter in whole seconds, rounded up, as the header says it; 0: none.
func (o *StatusOptions) wait() time.Duration {
	if up := o.RetryAfter + time.Second - 1; up > 0 {
		return up.Truncate(time.Second)
	}
	return o.RetryAfter // the sum is more than a duration holds
}

// failure is an error with room for what most answers of failure have, in one
// allocation. The response is not part of it: an event keeps the error, and
// must not keep the request that a response leads to.
type failure struct {
	HTTPError
	values [4]string // of the usual headers
	used   uint8     // of values
	room   [39]byte  // for the body
}

func newFailure(code int, line string) *failure {
	return &failure{HTTPError: HTTPError{StatusCode: code, Header: make(http.Header, 8), own: 1, line: line}}
}

// set sets one of the usual headers; name is in its canonical form.
func (m *failure) set(name, value string) {
	m.values[m.used] = value
	m.Header[name] = m.values[m.used : m.used+1 : m.used+1]
	m.used++
}

func (m *failure) finish(o *StatusOptions) error {
	if o.Body != "" {
		m.Body, m.Message = []byte(o.Body), ""
		m.set("Content-Type", contentType(m.Body))
	}
	now := time.Now().UTC()
	m.set("Date", now.Format(http.TimeFormat))
	if o.RetryAfter > 0 && o.RetryDate {
		m.set("Retry-After", now.Add(o.RetryAfter+time.Second-1).Truncate(time.Second).Format(http.TimeFormat))
	} else if o.RetryAfter > 0 {
		m.set("Retry-After", strconv.FormatInt(int64(o.wait()/time.Second), 10))
	}
	for name, values := range o.Header {
		m.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	m.set("Content-Length", strconv.Itoa(len(m.Body)))
	return &m.HTTPError
}

// contentType is that of JSON, or what net/http would detect.
func contentType(body []byte) string {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return "application/json"
	}
	return http.DetectContentType(body)
}

// persistence reports whether a retry can help: the statuses of a request that
// is wrong in itself are permanent.
func persistence(code int) chaos.Persistence {
	if retryable.OfStatus(code) == retryable.Transient {
		return chaos.Transient
	}
	return chaos.Permanent
}

// encode is a text as JSON, with & and < as they are, as the providers write them.
func encode(text string) []byte { return jsonedit.Quote(strings.ToValidUTF8(text, "\uFFFD")) }
