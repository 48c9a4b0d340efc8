// Package failure has the envelope of every failed call, and what the errors of the
// library become in it.
package failure

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A Problem is the envelope of every failed call. The codes are stable, the
// texts are for people and models.
type Problem struct {
	Status int    `json:"status" jsonschema:"HTTP status that fits the failure" range:"400,599"`
	Code   string `json:"code" jsonschema:"stable word for the kind of failure"`
	Detail string `json:"detail" jsonschema:"what was wrong, with the value and what is allowed"`
	Hint   string `json:"hint" jsonschema:"what to do about it"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// The codes of problems, in addition to those of package policy.
const (
	CodeArguments = policy.CodeInvalidArguments
	CodeConflict  = "busy"
	CodeNotFound  = "not_found"
	CodeForbidden = "environment_not_allowed"
	CodeNothing   = "nothing_recorded"
	CodeTimeout   = policy.CodeDeadlineExceeded
	CodeCancelled = policy.CodeCancelled
	CodeClosing   = faulthub.CodeClosing
	CodeUnread    = "parameters_unread"
	CodeStateless = "session_required"
	CodeInternal  = policy.CodeToolError
)

// MaxShown bounds the values that a problem repeats, in bytes.
const MaxShown = 60

// New returns a problem.
func New(status int, code, detail, hint string) *Problem { return &Problem{status, code, detail, hint} }

// BadArguments refuses the arguments of a call.
func BadArguments(detail, hint string) *Problem {
	return &Problem{http.StatusBadRequest, CodeArguments, detail, hint}
}

// NotFound says that what a call names is not there.
func NotFound(detail, hint string) *Problem {
	return &Problem{http.StatusNotFound, CodeNotFound, detail, hint}
}

// failure is the problem that an error of the library becomes.
type failure struct {
	matches func(error) bool
	status  int
	code    string
	hint    string
}

// failures are looked through in order.
func failures() []failure {
	const schema = "Correct the arguments by the tool's input schema and call again."
	return []failure{
		{is(gameday.ErrUnknown), http.StatusNotFound, CodeNotFound, "chaos_status lists the registered experiments."},
		{is(chaos.ErrUnknownRule), http.StatusNotFound, CodeNotFound,
			"chaos_status lists the active faults; register one first."},
		{is(trace.ErrUnknownRun), http.StatusNotFound, CodeNotFound, "get_runs lists the runs that are kept."},
		{is(trace.ErrBusy), http.StatusConflict, CodeConflict,
			"Wait until get_runs shows no run as running, then call again."},
		{is(trace.ErrUnread), http.StatusUnprocessableEntity, CodeUnread,
			"The workload does not act on these parameters; vary another one."},
		{is(trace.ErrNoWorkload), http.StatusNotFound, CodeNotFound,
			"The host has no workload; only recorded runs can be looked at."},
		{is(chaos.ErrCellEnded), http.StatusConflict, CodeClosing,
			"The injector was closed by its host: no fault can be injected any more."},
		{is(context.DeadlineExceeded), http.StatusGatewayTimeout, CodeTimeout,
			"Narrow the request, or ask for less at once."},
		{is(context.Canceled), http.StatusRequestTimeout, CodeCancelled, "Call again if the answer is still wanted."},
		{as[*timeline.WindowError], http.StatusBadRequest, CodeArguments,
			"Narrow the window: pass a later start or an earlier end."},
		{refusedBy("timeline"), http.StatusBadRequest, CodeArguments, "get_graph lists nodes and classes; " + schema},
		{as[*chaos.RuleError], http.StatusBadRequest, CodeArguments, schema},
		{refusedBy("trace", "scoring", "contract"), http.StatusBadRequest, CodeArguments, schema},
		{func(error) bool { return true }, http.StatusInternalServerError, CodeInternal,
			"This is not a matter of the arguments; look at the host's log."},
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// refusedBy matches the [scoring.FieldError] of these packages. Those of others
// are about the host's own settings.
func refusedBy(packages ...string) func(error) bool {
	return func(err error) bool {
		f, ok := errors.AsType[*scoring.FieldError](err)
		return ok && slices.Contains(packages, f.Package)
	}
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// Of returns the envelope of an error. A problem is its own envelope.
func Of(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var refused *toolschema.Refusal
	if errors.As(err, &refused) {
		return BadArguments(refused.Detail, refused.Hint)
	}
	var unsubscribed *faulthub.Refusal
	if errors.As(err, &unsubscribed) {
		return &Problem{unsubscribed.Status, unsubscribed.Code, unsubscribed.Detail, unsubscribed.Hint}
	}
	for _, f := range failures() {
		if f.matches(err) {
			return &Problem{f.status, f.code, err.Error(), f.hint}
		}
	}
	return &Problem{http.StatusInternalServerError, CodeInternal, err.Error(), ""}
}
