package chaoshttp

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// StatusOptions are the settings of [Status] and [APIError]; the zero value
// works.
type StatusOptions struct {
	_ struct{}
	// RetryAfter is sent in the header of that name, in seconds, rounded up
	// (RFC 9110, section 10.2.3); 0: it is not sent.
	RetryAfter time.Duration
	// RetryDate sends RetryAfter as a date: the moment at which it is over.
	RetryDate bool
	// Header is sent besides; its values replace those of the fault.
	Header http.Header
	// Body is sent as it is; empty: the text of the status, or the body of the
	// API. Its content type is that of Header, or else detected.
	Body string
}

// Status answers a call with a status code from 400 to 599; the callee is not
// reached. A client gets the response; a function, tool or other point gets the
// [*HTTPError]. o may be nil.
//
// Quotas and expiry are triggers: with when.After(n) a 429 is a quota of n
// calls, and a 401 an authentication that expires after n.
func Status(code int, o *StatusOptions) chaos.Fault {
	f := status{kind: "http_status", code: code, line: statusLine(code)}
	if o != nil {
		f.o = *o
		f.o.Header = o.Header.Clone()
	}
	return f
}

// status is a fault that is an answer.
type status struct {
	kind string
	code int
	o    StatusOptions
	api  API
	as   ErrorKind
	line string // of the answer; empty: it is made of the code
}

// drawRequestID is the salt of the draw: ASCII for "request".
const drawRequestID = 0x72657175657374

func (f status) Fail(c chaos.Call) error {
	m := &failure{HTTPError: HTTPError{StatusCode: f.code, Header: make(http.Header, 8), own: 1, line: f.line}}
	e, values := &m.HTTPError, m.values[:0]
	set := func(name, value string) {
		values = append(values, value)
		e.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	switch {
	case f.o.Body != "":
		if f.api != "" {
			f.speak(e, c)
		}
		e.Body, e.Message = []byte(f.o.Body), ""
		set("Content-Type", contentType(e.Body))
	case f.api == "":
		e.Body = append(append(m.body[:0], http.StatusText(f.code)...), '\n')
		set("Content-Type", "text/plain; charset=utf-8")
	default:
		f.speak(e, c)
	}
	now := time.Now().UTC()
	set("Date", httpTime(now))
	if after := f.o.RetryAfter; after > 0 && f.o.RetryDate {
		set("Retry-After", now.Add(after+time.Second-1).Truncate(time.Second).Format(http.TimeFormat))
	} else if after > 0 {
		set("Retry-After", strconv.FormatInt(int64(math.Ceil(after.Seconds())), 10))
	}
	for name, values := range f.o.Header {
		e.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	set("Content-Length", strconv.Itoa(len(e.Body)))
	return e
}

// failure is an error with room for what most answers of failure have, in one
// allocation. The response is not part of it: an event keeps the error, and
// must not keep the request that a response leads to.
type failure struct {
	HTTPError
	values [4]string // of the usual headers
	body   [40]byte
}

// httpTime formats now as http.TimeFormat does, in a fifth of the time of
// Format, which is much of the cost of an injected status.
func httpTime(utc time.Time) string {
	const days, months = "SunMonTueWedThuFriSat", "JanFebMarAprMayJunJulAugSepOctNovDec"
	year, month, day := utc.Date()
	hour, minute, second := utc.Clock()
	if year > 9999 {
		return utc.Format(http.TimeFormat)
	}
	b := make([]byte, 0, len(http.TimeFormat))
	two := func(n int) { b = append(b, byte('0'+n/10), byte('0'+n%10)) }
	b = append(append(b, days[3*utc.Weekday():][:3]...), ", "...)
	two(day)
	b = append(append(append(b, ' '), months[3*(month-1):][:3]...), ' ')
	two(year / 100)
	two(year % 100)
	b = append(b, ' ')
	two(hour)
	b = append(b, ':')
	two(minute)
	b = append(b, ':')
	two(second)
	return string(append(b, " GMT"...))
}

// contentType is that of JSON, or what net/http would detect.
func contentType(body []byte) string {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return "application/json"
	}
	return http.DetectContentType(body)
}

func (f status) Inject(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
	return nil, f.Fail(c)
}

func (f status) Check() error {
	c := param.Check{Kind: f.kind}
	if f.api == "" && f.as == "" {
		c.That(f.code >= 400 && f.code <= 599, "code", f.code, "a status code from 400 to 599")
	} else {
		f.checkAPI(&c)
	}
	c.Wait("retryAfter", f.o.RetryAfter)
	for name, values := range f.o.Header {
		bad := name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) ||
			strings.ContainsAny(strings.Join(values, ""), "\r\n\x00")
		c.That(!bad, "header", name, "names and values that a header can have (RFC 9110, section 5)")
	}
	c.That(!f.o.RetryDate || f.o.RetryAfter > 0, "retryDate", f.o.RetryDate, "false, or a retryAfter of more than 0")
	return c.Err()
}

func (f status) Describe() chaos.Description {
	d := chaos.Description{
		Kind: f.kind, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: persistence(f.code, f.as), Effect: chaos.EffectNone,
	}
	if f.api != "" {
		d.Layer = chaos.LayerLLM
	}
	p := statusParams{API: f.api, Error: f.as, RetryDate: f.o.RetryDate, Header: f.o.Header, Body: f.o.Body}
	if f.kind == "http_status" {
		p.Code = f.code
	}
	if f.o.RetryAfter != 0 {
		p.RetryAfter = f.o.RetryAfter.String()
	}
	return param.With(d, p)
}

type statusParams struct {
	API        API         `json:"api,omitempty"`
	Error      ErrorKind   `json:"error,omitempty"`
	Code       int         `json:"code,omitempty"`
	RetryAfter string      `json:"retryAfter,omitempty"`
	RetryDate  bool        `json:"retryDate,omitempty"`
	Header     http.Header `json:"header,omitempty"`
	Body       string      `json:"body,omitempty"`
}

// persistence reports whether a retry can help: the statuses of a request that
// is wrong in itself are permanent.
func persistence(code int, as ErrorKind) chaos.Persistence {
	switch {
	case as == KindQuota:
		return chaos.Permanent
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusConflict,
		code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return chaos.Transient
	}
	return chaos.Permanent
}
