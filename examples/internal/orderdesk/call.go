package orderdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// patience is how often a call is tried, and how long the agent waits before
// each further try: first, then twice as long, up to most.
type patience struct {
	tries       int
	first, most time.Duration
}

// The patience of an agent without and with the habit of retrying.
const (
	hastyTries   = 2
	patientTries = 6
	firstWait    = 20 * time.Millisecond
	longestWait  = 50 * time.Millisecond
)

func (h Habits) patience() patience {
	if h.Retry {
		return patience{patientTries, firstWait, longestWait}
	}
	return patience{tries: hastyTries}
}

// callTimeout bounds one try, so that a tool that hangs costs a try and not the answer.
const callTimeout = 5 * time.Second

// call calls a tool and reads its reply, as often as the patience allows.
func call[Out interface{ valid() bool }](ctx context.Context, d *desk, tool string, args any) (out Out, err error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return out, fmt.Errorf("%s: %w", tool, err)
	}
	p := d.habits.patience()
	wait := p.first
	for try := 1; ; try++ {
		if out, err = attempt[Out](ctx, d.tools, tool, raw); err == nil {
			return out, nil
		}
		if try == p.tries || errors.Is(err, errRefused) {
			return out, fmt.Errorf("%s: %w", tool, err)
		}
		if err := pause(ctx, wait); err != nil {
			return out, fmt.Errorf("%s: %w", tool, err)
		}
		wait = min(2*wait, p.most)
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

// pause waits for d or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
