package incident

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Job is an agent's task.
type Job struct {
	Incident Incident
	Dir      string        // the workspace: the agent reads incident.json there and writes output/investigation.md
	Timeout  time.Duration // how long it may take; its context ends [Leeway] later
	// Patience is how long the agent may go on after its context has ended because
	// the runner stops; 0: not at all.
	Patience time.Duration

	running func() // called once the program of a Command runs; nil: not by a runner
}

// A Result is how an agent ended.
type Result struct {
	ExitCode int    // -1 where there is none: it could not be run, was killed, or panicked
	Err      error  // why it could not be run to its end; nil when it exited by itself, with whatever code
	Output   []byte // the end of what it printed, bounded and with secrets taken out
}

// An Agent investigates an incident. It returns soon after its context ends,
// and leaves no process or goroutine behind. It is called from several
// goroutines at once. [Command] runs a program; [AgentFunc] runs in the
// process.
type Agent interface {
	Investigate(ctx context.Context, job Job) Result
}

// AgentFunc makes a function an agent: an error that it returns is the failure,
// with exit code -1.
type AgentFunc func(ctx context.Context, job Job) error

// Investigate calls the function.
func (f AgentFunc) Investigate(ctx context.Context, job Job) Result {
	if err := f(ctx, job); err != nil {
		return failed(err)
	}
	return Result{}
}

// Leeway is how long an agent whose time is over may take to notice.
const Leeway = 60 * time.Second

// abandonAfter is how long an agent in this process may take to return after its
// context has ended. After that the runner no longer waits for it.
const abandonAfter = 10 * time.Second

// Causes of the end of an agent's context.
var (
	errTimeout  = errors.New("the agent ran into its timeout")
	errShutdown = errors.New("the runner was shut down")
)

// agentLimit is when an agent with a time limit is ended.
func agentLimit(timeout time.Duration) time.Duration {
	return timeout + min(Leeway, math.MaxInt64-timeout)
}

// investigate runs an agent so that its panic, the end of its goroutine, or its
// refusal to stop ends only its own incident. If the runner stops and the agent
// does not, it is left behind after abandonAfter.
func investigate(ctx context.Context, a Agent, job Job, leaveBehind time.Duration) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, agentLimit(job.Timeout), errTimeout)
	defer cancel()
	result, err, left := usercode.Do(ctx, usercode.Options[Result]{
		Exited: errAgentExited,
		Grace: func(cause error) time.Duration {
			if errors.Is(cause, errTimeout) {
				return abandonAfter
			}
			return leaveBehind
		},
	}, func(ctx context.Context) (Result, error) { return a.Investigate(ctx, job), nil })
	p, panicked := err.(*usercode.PanicError)
	switch {
	case left:
		return failed(fmt.Errorf("%w, and the agent was left behind because it did not stop", err))
	case panicked:
		return Result{ExitCode: -1, Err: fmt.Errorf("the agent panicked: %v", p.Value), Output: []byte(p.Stack)}
	case err != nil:
		return failed(err)
	}
	return result
}

var errAgentExited = errors.New("the agent ended its goroutine")

func failed(err error) Result { return Result{ExitCode: -1, Err: err} }
