package habits

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// Retries calls again what failed, after a pause that grows (Tries, Wait, MaxWait). It repeats a call of a tool that is
// declared to change nothing, and another one only if the call has the tool's idempotency key or the tool says that it
// did nothing ([ErrNotDone]). It does not repeat after a permanent failure, and waits as long as the callee asked. If
// the caller's deadline comes before the end of the pause, it does not wait. In virtual time the pauses are the same in
// each trial of a scenario. The name is "bounded-retries".
func Retries(o *Options) *Habit {
	return o.habit(&Habit{
		Name: nameRetries, Does: "bounded retries with back-off",
		Assumes: "a failure that is not permanent passes within the pauses, and a tool does its work once for each key",
		rank:    rankRetries, start: func(o Options) state { return onAny(o.retry) },
		options: Options{Tries: 4, Wait: 250 * time.Millisecond, MaxWait: longest},
	})
}

const (
	nameRetries = "bounded-retries"
	longest     = 30 * time.Second
)

func (o Options) retry(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	for try := 1; try < o.Tries; try++ {
		f := failureOf(result, err)
		if f == nil || f.class == retryable.Permanent || !c.changesNothing() && !f.undone && !c.hasKey() ||
			!o.pause(ctx, c, try, f.after) {
			break
		}
		noteDoubt(ctx, f)
		result, err = c.pass(c.own(ctx))
	}
	return result, err
}

// pause waits before another try, and reports whether it is to be made.
func (o Options) pause(ctx context.Context, c *call, tries int, asked time.Duration) bool {
	wait := o.MaxWait
	if tries < 32 && o.Wait <= o.MaxWait>>(tries-1) {
		wait = o.Wait << (tries - 1)
	}
	wait -= time.Duration(c.share(ctx, tries) * float64(wait) / 4)
	wait = max(wait, asked)
	return !o.tooLong(ctx, wait) && chaos.Sleep(ctx, wait) == nil
}

// tooLong reports whether a wait is longer than the options allow or the caller has.
func (o Options) tooLong(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return wait > o.MaxWait || ctx.Err() != nil || ok && time.Until(deadline) <= wait
}

// share says how much of the most that may be left out of a pause is, at random from 0 to 1. In virtual time trials of
// a scenario have equal pauses, so that runs which were equal without habits stay so. Arguments do not count: a key is
// another one in each trial.
func (c *call) share(ctx context.Context, tries int) float64 {
	in := chaos.FromContext(ctx)
	if in == nil || !in.Virtual() {
		return rand.Float64()
	}
	scenario := in.Cell()
	if i := strings.LastIndexByte(scenario, '/'); i >= 0 { // the trial comes last
		scenario = scenario[:i]
	}
	return hash.Unit(draw(ctx, in, scenario, operation{tool: c.tool.Name}, uint64(tries)))
}

// Deadlines ends the context of a call after a time (After). If the tool returns an error then, the caller gets one
// that matches [context.DeadlineExceeded]. The name is "deadline".
func Deadlines(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "deadline", Does: "a deadline for each call",
		Assumes: "the tool returns when its context ends, and a call that takes longer is not worth the wait",
		rank:    rankDeadline, start: func(o Options) state { return onAny(o.limit) },
		options: Options{After: 10 * time.Second},
	})
}

func (o Options) limit(ctx context.Context, c *call) (json.RawMessage, error) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.After)
	defer cancel()
	result, err := c.pass(limited)
	if err != nil && time.Since(began) >= o.After && ctx.Err() == nil { // a timer of the tool may be the first to fire
		err = fmt.Errorf("%s did not answer within %v: %w", c.tool.Name, o.After, context.DeadlineExceeded)
	}
	return result, err
}
