package contract

import (
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

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
	switch e := c.Aside(limit, fn); {
	case e.Left:
		return fmt.Sprintf("it did not return within %v", limit)
	case e.Err != nil:
		return e.Err.Error()
	}
	return ""
}
