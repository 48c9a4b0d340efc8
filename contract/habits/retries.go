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
	// Tools is a glob of the tools on which it may act; "": all.
	Tools string
	// Tries is the number of calls in all, 1 or more; 0: 4.
	Tries int
	// Wait is the pause before the second try, above 0; 0: 250 ms. It doubles with each further try. Of each pause
	// the last quarter is random.
	Wait time.Duration
	// MaxWait is the longest pause, Wait or more; 0: 30 s. A callee that asks for a longer one is not called again.
	MaxWait time.Duration
}

// Retries calls again what failed, after a pause that grows: a tool that is declared to change nothing; another
// one only where a repeat is known to be safe, since the call has the tool's idempotency key or the failure came
// before the work. It does not repeat after a permanent failure, and waits as long as the callee asked for. If the
// caller's deadline is nearer than the end of the pause, it does not wait.
//
// Name: bounded-retries.
func Retries(o *RetryOptions) *Habit {
	r := retries{4, 250 * time.Millisecond, 30 * time.Second}
	h := &Habit{
		Name: "bounded-retries", Does: "bounded retries with back-off",
		Assumes: "a failure that is not permanent passes within the pauses, and a tool that was refused a connection " +
			"or turned away did nothing",
		rank:     rankRetries,
		abstains: func(*chaos.Tool, []chaos.Tool) string { return "" },
	}
	if o != nil {
		r = retries{cmp.Or(o.Tries, r.tries), cmp.Or(o.Wait, r.wait), cmp.Or(o.MaxWait, max(r.most, o.Wait))}
		h.tools = o.Tools
		h.demand(r.tries >= 1, "Tries", o.Tries, "1 or more, or 0 for 4")
		h.demand(r.wait > 0, "Wait", o.Wait, "more than 0, or 0 for 250ms")
		h.demand(r.most >= r.wait, "MaxWait", o.MaxWait, "Wait or more, or 0 for 30s")
	}
	h.start = func(*Habit) handler { return r.handle }
	h.overHTTP = func() exchange { return r.exchange }
	return h
}

type retries struct {
	tries int
	wait  time.Duration
	most  time.Duration
}

func (r retries) handle(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	result, err := c.pass(ctx, next)
	if !c.acts {
		return result, err
	}
	for try := 1; try < r.tries && ctx.Err() == nil; try++ {
		f := failureOf(result, err)
		if f == nil || f.class == retryable.Permanent || !f.before && !c.reads() && !hasKey(c.tool, c.args) ||
			!r.pause(ctx, try, f.after, hash.String(c.tool.Name)) {
			break
		}
		result, err = c.own(ctx, next)
	}
	return result, err
}

// pause waits before the next try, and reports whether it is to be made.
func (r retries) pause(ctx context.Context, try int, asked time.Duration, coordinates ...uint64) bool {
	wait := r.most
	if shift := try - 1; shift < 32 && r.wait<<shift>>shift == r.wait {
		wait = min(wait, r.wait<<shift)
	}
	wait -= time.Duration(hash.Unit(draw(ctx, append(coordinates, uint64(try))...)) * float64(wait) / 4)
	if wait = max(wait, asked); wait > r.most {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	return chaos.Sleep(ctx, wait) == nil
}
