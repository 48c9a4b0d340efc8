package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// The codes of problems, in addition to those of package policy.
const (
	codeConflict  = "busy"
	codeNotFound  = "not_found"
	codeForbidden = "environment_not_allowed"
	codeNothing   = "nothing_recorded"
	codeClosing   = "shutting_down"
	codeUnread    = "parameters_unread"
	codeStateless = "session_required"
	codeRunFailed = "run_failed"
)

// maxShown bounds the values that a problem repeats, in bytes.
const maxShown = 60

func problem(status int, code, detail, hint string) *policy.Error {
	return &policy.Error{Status: status, Code: code, Detail: detail, Hint: hint}
}

func badArguments(detail, hint string) error {
	return problem(http.StatusBadRequest, policy.CodeInvalidArguments, detail, hint)
}

func notFound(detail, hint string) error {
	return problem(http.StatusNotFound, codeNotFound, detail, hint)
}

// A failure is the problem that an error of the library becomes.
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
		{is(gameday.ErrUnknown), http.StatusNotFound, codeNotFound, "chaos_status lists the registered experiments."},
		{is(chaos.ErrUnknownRule), http.StatusNotFound, codeNotFound,
			"chaos_status lists the active faults; register one first."},
		{is(trace.ErrUnknownRun), http.StatusNotFound, codeNotFound, "get_runs lists the runs that are kept."},
		{is(trace.ErrBusy), http.StatusConflict, codeConflict,
			"Wait until get_runs shows no run as running, then call again."},
		{is(trace.ErrUnread), http.StatusUnprocessableEntity, codeUnread,
			"The workload does not act on these parameters; vary another one."},
		{is(trace.ErrNoWorkload), http.StatusNotFound, codeNotFound,
			"The host has no workload; only recorded runs can be looked at."},
		{is(chaos.ErrCellEnded), http.StatusConflict, codeClosing,
			"The injector was closed by its host: no fault can be injected any more."},
		{is(context.DeadlineExceeded), http.StatusGatewayTimeout, policy.CodeDeadlineExceeded,
			"Narrow the request, or ask for less at once."},
		{is(context.Canceled), http.StatusRequestTimeout, policy.CodeCancelled,
			"Call again if the answer is still wanted."},
		{as[*timeline.WindowError], http.StatusBadRequest, policy.CodeInvalidArguments,
			"Narrow the window: pass a later start or an earlier end."},
		{refusedBy("timeline"), http.StatusBadRequest, policy.CodeInvalidArguments,
			"get_graph lists nodes and classes; " + schema},
		{as[*chaos.RuleError], http.StatusBadRequest, policy.CodeInvalidArguments, schema},
		{refusedBy("trace", "scoring", "contract"), http.StatusBadRequest, policy.CodeInvalidArguments, schema},
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
	_, ok := errors.AsType[E](err)
	return ok
}

// problemOf returns the envelope of an error. A problem is its own envelope.
func problemOf(err error) *policy.Error {
	if p, ok := errors.AsType[*policy.Error](err); ok {
		return p
	}
	for _, f := range failures() {
		if f.matches(err) {
			return problem(f.status, f.code, err.Error(), f.hint)
		}
	}
	return problem(http.StatusInternalServerError, policy.CodeToolError, err.Error(),
		"This is not a matter of the arguments; look at the host's log.")
}

// planProblem is the problem of a plan that is refused. The places of all errors are
// JSON pointers into the arguments.
func planProblem(err error) error {
	var lines []string
	for _, one := range fielderror.Apart(err) {
		var located *planjson.Error
		// the list would be longer than all else
		if errors.As(one, &located) && located.Reason == planjson.UnknownKind {
			short := *located
			near, suggested := strings.CutPrefix(short.Allowed, "did you mean ")
			short.Allowed = "a kind of the resource " + uriCatalogue
			if suggested {
				near, _, _ = strings.Cut(near, "?")
				short.Allowed += "; did you mean " + near + "?"
			}
			one = &short
		}
		line := strings.TrimPrefix(strings.TrimPrefix(one.Error(), "planjson: "), "chaos: ")
		var wrong *chaos.RuleError
		switch {
		case strings.HasPrefix(line, "/"):
			line = "/plan" + line
		case errors.As(one, &wrong):
			line = fmt.Sprintf("/plan/rules/%d/%s%s: %s", wrong.Index, strings.ToLower(wrong.Field[:1]),
				wrong.Field[1:], line)
		default:
			line = "/plan: " + line
		}
		lines = append(lines, line)
	}
	return badArguments(strings.Join(lines, "\n"),
		"Correct the plan at these places and apply it again; nothing of it is in force. "+
			"The resource "+uriCatalogue+" has every kind with its parameters.")
}
