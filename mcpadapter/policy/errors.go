package policy

import (
	"net/http"

	"github.com/shakedown-go/shakedown/internal/fielderror"
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
	if c.Code == "" {
		c.Code = CodeToolError
	}
	if c.Detail == "" {
		c.Detail = http.StatusText(c.Status)
	}
	return &c
}
