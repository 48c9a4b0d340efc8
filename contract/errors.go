package contract

import (
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/usercode"
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

// A PanicError is a panic of user code: of the agent in [Observation.Err], of
// other functions in [CellReport.Why]. Value is what it panicked with, Stack that
// of the goroutine that panicked. Its text is the value without the stack; Unwrap
// returns the value if it is an error.
type PanicError = usercode.PanicError

// newCaller returns a loop for user code, whose Goexit is [ErrFailNow].
func newCaller() usercode.Loop { return usercode.Loop{Exited: ErrFailNow} }

// callAside runs user code that has no context, under a watchdog of its own. It
// returns what went wrong, or "".
func callAside(c *usercode.Loop, limit time.Duration, fn func()) (why string) {
	return whyAside(c.Aside(limit, fn), limit)
}

func whyAside(e usercode.Ending, limit time.Duration) string {
	switch {
	case e.Left:
		return fmt.Sprintf("it did not return within %v", limit)
	case e.Err != nil:
		return e.Err.Error()
	}
	return ""
}
