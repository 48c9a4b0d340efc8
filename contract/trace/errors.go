package trace

import (
	"errors"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// ErrBusy is returned by a run of a workload while another run of it is under way:
// two at once would disturb each other.
var ErrBusy = errors.New("trace: the workload is already running")

// ErrNoWorkload is returned if no workload is registered, so nothing can be run.
var ErrNoWorkload = errors.New("trace: no workload is registered")

// ErrUnread is matched by the error of a scenario whose workload read none of the
// given parameters: the result is the baseline, not the scenario.
var ErrUnread = errors.New("trace: the workload read none of the parameters")

// ErrUnknownRun is matched by the error for an id that is unknown, or whose run was
// dropped.
var ErrUnknownRun = errors.New("trace: no such run is kept")

func unknownRun(field, id string) error {
	return fields.Because(field, id, ErrUnknownRun, "an id of get_runs")
}

// A FieldError is one problem of an input: of an option, a request, or a place in
// a file, which has a line. Its Field has the spelling of the input: "startNs",
// "resourceSpans[0].scopeSpans[2].spans[7].traceId", "maxRuns". Several are joined.
type FieldError = scoring.FieldError

const fields = fielderror.Package("trace")

const maxReported = 16
