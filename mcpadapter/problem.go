package mcpadapter

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A problem is the envelope of every failed call. The codes are stable, the
// texts are for people and models.
type problem struct {
	Status int    `json:"status" jsonschema:"HTTP status that fits the failure" range:"400,599"`
	Code   string `json:"code" jsonschema:"stable word for the kind of failure"`
	Detail string `json:"detail" jsonschema:"what was wrong, with the value and what is allowed"`
	Hint   string `json:"hint" jsonschema:"what to do about it"`
}

func (p *problem) Error() string { return p.Detail }

// The codes of problems, in addition to those of package policy.
const (
	codeArguments = policy.CodeInvalidArguments
	codeConflict  = "busy"
	codeNotFound  = "not_found"
	codeForbidden = "environment_not_allowed"
	codeNothing   = "nothing_recorded"
	codeTimeout   = policy.CodeDeadlineExceeded
	codeCancelled = policy.CodeCancelled
	codeClosing   = faulthub.CodeClosing
	codeUnread    = "parameters_unread"
	codeInternal  = policy.CodeToolError
)

// maxShown bounds the values that a problem repeats, in bytes.
const maxShown = 60

func badArguments(detail, hint string) *problem {
	return &problem{http.StatusBadRequest, codeArguments, detail, hint}
}

func notFound(detail, hint string) *problem {
	return &problem{http.StatusNotFound, codeNotFound, detail, hint}
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
		{is(gameday.ErrUnknown), http.StatusNotFound, codeNotFound, "chaos_status lists the registered experiments."},
		{is(chaos.ErrUnknownRule), http.StatusNotFound, codeNotFound, "chaos_status lists the active faults; register one first."},
		{is(trace.ErrUnknownRun), http.StatusNotFound, codeNotFound, "get_runs lists the runs that are kept."},
		{is(trace.ErrBusy), http.StatusConflict, codeConflict, "Wait until get_runs shows no run as running, then call again."},
		{is(trace.ErrUnread), http.StatusUnprocessableEntity, codeUnread, "The workload does not act on these parameters; vary another one."},
		{is(trace.ErrNoWorkload), http.StatusNotFound, codeNotFound, "The host has no workload; only recorded runs can be looked at."},
		{is(chaos.ErrCellEnded), http.StatusConflict, codeClosing, "The injector was closed by its host: no fault can be injected any more."},
		{is(context.DeadlineExceeded), http.StatusGatewayTimeout, codeTimeout, "Narrow the request, or ask for less at once."},
		{is(context.Canceled), http.StatusRequestTimeout, codeCancelled, "Call again if the answer is still wanted."},
		{as[*timeline.WindowError], http.StatusBadRequest, codeArguments, "Narrow the window: pass a later start or an earlier end."},
		{refusedBy("timeline"), http.StatusBadRequest, codeArguments, "get_graph lists nodes and classes; " + schema},
		{as[*chaos.RuleError], http.StatusBadRequest, codeArguments, schema},
		{refusedBy("trace", "scoring", "contract"), http.StatusBadRequest, codeArguments, schema},
		{func(error) bool { return true }, http.StatusInternalServerError, codeInternal, "This is not a matter of the arguments; look at the host's log."},
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

// problemOf returns the envelope of an error. A problem is its own envelope.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var refused *toolschema.Refusal
	if errors.As(err, &refused) {
		return badArguments(refused.Detail, refused.Hint)
	}
	var unsubscribed *faulthub.Refusal
	if errors.As(err, &unsubscribed) {
		return &problem{unsubscribed.Status, unsubscribed.Code, unsubscribed.Detail, unsubscribed.Hint}
	}
	for _, f := range failures() {
		if f.matches(err) {
			return &problem{f.status, f.code, err.Error(), f.hint}
		}
	}
	return &problem{http.StatusInternalServerError, codeInternal, err.Error(), ""}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// sentences joins those that are not empty.
func sentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}
