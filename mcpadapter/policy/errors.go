package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is an option, a row or a member of a document that was refused,
// such as "Tools[3].Scopes".
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("policy")

// An Error is the envelope of every failure, as a client gets it in JSON. A
// handler may return one to choose its members.
type Error struct {
	// Status is an HTTP status, from 400 to 599; anything else counts as 500.
	Status int `json:"status"`
	// Code is the kind of failure, in snake_case: one of the constants, or a
	// handler's own.
	Code string `json:"code"`
	// Detail says what went wrong with this call, Hint what the caller can do.
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
	// Problem is what a service behind the tool gave, or nil.
	Problem *Problem `json:"problem,omitempty"`
}

// The codes of the gate's own errors, with their status.
const (
	CodeUnauthenticated      = "unauthenticated"       // 401
	CodeUnknownTool          = "unknown_tool"          // 404
	CodeReadOnly             = "read_only"             // 403
	CodeMissingScope         = "missing_scope"         // 403
	CodeConfirmationRequired = "confirmation_required" // 400
	CodeDeclined             = "declined"              // 400: the user said no
	CodeInvalidArguments     = "invalid_arguments"     // 400
	CodeForbiddenSession     = "forbidden_session"     // 403: the session is another caller's
	CodeUnknownSession       = "unknown_session"       // 404
	CodeTLSRequired          = "tls_required"          // 403: the token came in clear from beyond this machine
	CodeTooManySessions      = "too_many_sessions"     // 429: sessions or subscriptions
	CodeTooManyLogins        = "too_many_logins"       // 429: failed ones, of this address
	CodeAuditUnavailable     = "audit_unavailable"     // 503: what writes is refused until it can be recorded
	CodeRateLimited          = "rate_limited"          // 429
	CodeBudgetExhausted      = "budget_exhausted"      // 429
	CodeCancelled            = "cancelled"             // 408
	CodeDeadlineExceeded     = "deadline_exceeded"     // 504
	CodeUpstreamProblem      = "upstream_problem"      // the callee's status
	CodeToolError            = "tool_error"            // 500: the tool failed
	CodePanic                = "panic"                 // 500
)

// Error returns the detail alone; status, code and hint are for programs.
func (e *Error) Error() string {
	if e.Detail == "" {
		return http.StatusText(e.Status)
	}
	return e.Detail
}

// Unwrap returns the problem, or nil.
func (e *Error) Unwrap() error {
	if e.Problem == nil {
		return nil
	}
	return e.Problem
}

// sound returns e with every member set, for the wire.
func (e *Error) sound() *Error {
	c := *e
	if c.Status < 400 || c.Status > 599 {
		c.Status = http.StatusInternalServerError
	}
	c.Code, c.Detail = cmp.Or(c.Code, CodeToolError), cmp.Or(c.Detail, http.StatusText(c.Status))
	return &c
}

// maxProblem bounds what is read of a failed response, in bytes.
const maxProblem = 64 << 10

// A Problem is problem details as in RFC 9457: how an HTTP API describes a
// failed request. As the error of a tool's handler it reaches the client whole.
type Problem struct {
	Type     string // a URI reference; empty means "about:blank"
	Title    string
	Status   int // an HTTP status; 0: not given
	Detail   string
	Instance string
	// Extensions are all other members, by name. A name of the five above is left
	// out of JSON.
	Extensions map[string]any
}

// Error describes the problem in one line.
func (p *Problem) Error() string {
	if p.Title != "" && p.Detail != "" {
		return p.Title + ": " + p.Detail
	}
	status := strings.TrimSpace(fmt.Sprintf("status %d %s", p.Status, http.StatusText(p.Status)))
	return cmp.Or(p.Title, p.Detail, status)
}

// MarshalJSON writes the members that are set, extensions beside the others.
func (p *Problem) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(p.Extensions)+5)
	maps.Copy(m, p.Extensions)
	own := map[string]string{"type": p.Type, "title": p.Title, "detail": p.Detail, "instance": p.Instance}
	for name, value := range own {
		delete(m, name)
		if value != "" {
			m[name] = value
		}
	}
	delete(m, "status")
	if p.Status != 0 {
		m["status"] = p.Status
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads an object. As the RFC asks, a member of the wrong type is
// ignored; it is no extension either.
func (p *Problem) UnmarshalJSON(text []byte) error {
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	word := func(name string) string {
		value, _ := m[name].(string)
		delete(m, name)
		return value
	}
	*p = Problem{Type: word("type"), Title: word("title"), Detail: word("detail"), Instance: word("instance")}
	if status, _ := m["status"].(float64); status == math.Trunc(status) && status >= 100 && status <= 599 {
		p.Status = int(status)
	}
	if delete(m, "status"); len(m) > 0 {
		p.Extensions = m
	}
	return nil
}

// envelope keeps the problem whole and repeats what every failure has.
func (p *Problem) envelope() *Error {
	e := &Error{Status: p.Status, Code: CodeUpstreamProblem, Detail: cmp.Or(p.Detail, p.Error()), Problem: p}
	switch {
	case e.Status < 400 || e.Status > 599:
		e.Status = http.StatusBadGateway
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		e.Hint = "try again later"
	case e.Status < 500:
		e.Hint = "the service behind the tool refused the request; see the problem"
	}
	return e
}

// ReadProblem returns nil for a response whose status is below 400, and
// otherwise the problem that it carries, as a [*Problem]. The caller still
// closes the body. Problem details are kept whole, with the response's status
// if they give none. Any other response becomes a problem with the status's own
// title and, if it is text, its first lines as the detail. At most 64 KiB are
// read.
func ReadProblem(res *http.Response) error {
	if res.StatusCode < 400 {
		return nil
	}
	p := new(Problem)
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // a cut body is better than no problem
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(body, p) != nil {
		*p = Problem{Title: http.StatusText(res.StatusCode)}
		if strings.HasPrefix(media, "text/") && media != "text/html" || media == "application/json" {
			p.Detail = text.Clip(strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD")), 1000)
		}
	}
	p.Status = cmp.Or(p.Status, res.StatusCode)
	return p
}
