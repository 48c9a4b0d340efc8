package orderdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

// How often a call is tried without and with the habit of retrying. Who retries waits before each
// further try, twice as long each time.
const (
	hastyTries   = 2
	patientTries = 6
	firstWait    = 20 * time.Millisecond
	longestWait  = 50 * time.Millisecond
)

// callTimeout bounds one try, so that a tool that hangs costs a try and not the answer.
const callTimeout = 5 * time.Second

// call calls a tool and reads its reply, as often as the habits allow.
func call[Out interface{ valid() bool }](ctx context.Context, d *desk, tool string, args any) (out Out, err error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return out, fmt.Errorf("%s: %w", tool, err)
	}
	tries, wait := hastyTries, time.Duration(0)
	if d.habits.Retry {
		tries, wait = patientTries, firstWait
	}
	for try := 1; ; try++ {
		if out, err = attempt[Out](ctx, d.tools, tool, raw); err == nil {
			return out, nil
		}
		if try == tries || errors.Is(err, errRefused) || isTold(err) {
			return out, fmt.Errorf("%s: %w", tool, err)
		}
		if err := cli.Sleep(ctx, wait); err != nil {
			return out, fmt.Errorf("%s: %w", tool, err)
		}
		wait = min(2*wait, longestWait)
	}
}

func attempt[Out interface{ valid() bool }](ctx context.Context, tools chaos.ToolRegistry, tool string,
	args json.RawMessage) (out Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := tools.CallTool(ctx, tool, args)
	if err != nil {
		return out, err
	}
	return decode[Out](reply)
}
