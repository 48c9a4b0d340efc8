package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// RetryOptions are the settings of [Retries]; nil and the zero value work.
type RetryOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
	// Tries is the number of calls in all; 0: 4.
	Tries int
	// Wait is the pause before the second try; 0: 250 ms. It doubles with each further one. Up to a quarter of each
	// pause is left out, at random.
	Wait time.Duration
	// MaxWait is the longest pause; 0: 30 s. A callee that asks for a longer one is not called again.
	MaxWait time.Duration
}

// Retries calls again what failed, after a pause that grows. It repeats a call of a tool that is declared to change
// nothing, and another one only where that is known to be safe: the call has the tool's idempotency key, or failed
// before the work. It does not repeat after a permanent failure, and waits as long as the callee asked for. If the
// caller's deadline comes before the end of the pause, it does not wait. The name is "bounded-retries".
func Retries(o *RetryOptions) *Habit {
	r := or(o)
	h := &Habit{
		Name: "bounded-retries", Does: "bounded retries with back-off",
		Assumes: "a failure that is not permanent passes within the pauses, and a tool that refused or turned away " +
			"the call did nothing",
		rank: rankRetries, abstains: all, start: func() handler { return r.handle },
	}
	notNegative(h, "Tries", r.Tries)
	notNegative(h, "Wait", r.Wait)
	notNegative(h, "MaxWait", r.MaxWait)
	r.Tries, r.Wait = cmp.Or(r.Tries, 4), cmp.Or(r.Wait, 250*time.Millisecond)
	r.MaxWait = cmp.Or(r.MaxWait, 30*time.Second)
	return h.on(r.Tools)
}

func (r *RetryOptions) handle(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	for try := 1; try < r.Tries; try++ {
		f := failureOf(result, err)
		if f == nil || f.class == retryable.Permanent || !c.changesNothing() && !f.undone && !hasKey(c.tool, c.args) ||
			!r.pause(ctx, c, try, f.after) {
			break
		}
		result, err = c.pass(c.own(ctx))
	}
	return result, err
}

// pause waits before another try, and reports whether it is to be made.
func (r *RetryOptions) pause(ctx context.Context, c *call, tries int, asked time.Duration) bool {
	wait := r.MaxWait
	if tries < 32 && r.Wait <= r.MaxWait>>(tries-1) {
		wait = r.Wait << (tries - 1)
	}
	op := c.operation()
	wait -= time.Duration(hash.Unit(draw(ctx, hash.String(op.tool), op.args, uint64(tries))) * float64(wait) / 4)
	if wait = max(wait, asked); wait > r.MaxWait || ctx.Err() != nil {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	return chaos.Sleep(ctx, wait) == nil
}
