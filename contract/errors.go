package contract

import (
	"errors"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// The errors of an agent that does not return, which [Observation.Err] matches.
// Each breaks the invariants without [Invariant.JudgesErrors].
var (
	// ErrTimeout: the agent had not answered one second after [Matrix.Timeout], or
	// when the watchdog's time was over.
	ErrTimeout = errors.New("contract: the agent did not answer in time")
	// ErrHung: without a [Matrix.Timeout], the agent had not answered after thirty days
	// of virtual time. In real time the watchdog ends such a wait.
	ErrHung = errors.New("contract: the agent hangs")
	// ErrFailNow: the agent ended its goroutine, as t.FailNow does.
	ErrFailNow = errors.New("contract: it ended its goroutine (t.FailNow or runtime.Goexit)")
)

// A FieldError is one problem of a [Matrix], such as "Invariants[2].Severity".
// [Matrix.Validate] and [Matrix.Run] join all they find.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("contract")
