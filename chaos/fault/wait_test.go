package fault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
)

// waiting are the faults that wait, each for an hour at least.
func waiting() map[string]chaos.Fault {
	return map[string]chaos.Fault{
		"Delay":       fault.Delay(time.Hour),
		"Uniform":     fault.Uniform(time.Hour, 2*time.Hour),
		"Normal":      fault.Normal(1000*time.Hour, time.Hour),
		"Exponential": fault.Exponential(1e6 * time.Hour),
		"Timeout":     fault.Timeout(time.Hour),
		"LoseReply":   fault.LoseReplyAfter(time.Hour),
		"Hang":        fault.Hang(),
	}
}

const moment = 50 * time.Millisecond

// A context that ends during a wait ends it there and then, and the caller
// gets the error that its context has.
func TestWaitsEndWithTheContext(t *testing.T) {
	type ending struct {
		name string
		of   func(context.Context) (context.Context, context.CancelFunc)
		is   error
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(moment, cancel)
		return ctx, cancel
	}
	expired := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, moment)
	}
	for _, end := range []ending{
		{"cancelled", cancelled, context.Canceled},
		{"deadline", expired, context.DeadlineExceeded},
	} {
		for name, f := range waiting() {
			t.Run(end.name+"/"+name, func(t *testing.T) {
				everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
					ctx, in := withRules(t, chaos.Rule{Fault: f})
					ctx, cancel := end.of(ctx)
					defer cancel()
					var err error
					assert.Equal(t, moment, took(func() { _, err = call(ctx) }))
					assert.ErrorIs(t, err, end.is)
					assert.ErrorIs(t, err, chaos.ErrInjected)
					assert.Equal(t, name == "LoseReply", d.calls == 1, "only a lost reply has reached the callee")
					e := onlyEvent(t, in)
					assert.True(t, e.Delivered)
					assert.Equal(t, moment, e.Spent)
					assert.Equal(t, chaos.OutcomeInjected, e.Outcome)
				})
			})
		}
	}
}

// A context that had ended before leaves nothing to wait for: the call goes
// through, and whether it fails is the callee's affair, as without the fault.
// Only a reply that came all the same can be lost.
func TestNoWaitUnderAnEndedContext(t *testing.T) {
	for name, f := range waiting() {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
				ctx, in := withRules(t, chaos.Rule{Fault: f})
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				var err error
				assert.Zero(t, took(func() { _, err = call(ctx) }))
				e := onlyEvent(t, in)
				assert.Zero(t, e.Spent)
				assert.Equal(t, 1, d.calls)
				if name == "LoseReply" {
					assert.ErrorIs(t, err, context.Canceled)
					assert.True(t, e.Delivered, "there was a reply")
					return
				}
				assert.NoError(t, err, "this callee does not look at its context")
				assert.False(t, e.Delivered)
				assert.Len(t, in.Undelivered(), 1)
			})
		})
	}
}

// Disarming ends every wait, and the call goes through as if nothing had been.
func TestWaitsEndWhenDisarmed(t *testing.T) {
	for name, f := range waiting() {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
				ctx, in := withRules(t, chaos.Rule{Fault: f})
				time.AfterFunc(moment, in.Disarm)
				var status string
				var err error
				assert.Equal(t, moment, took(func() { status, err = call(ctx) }))
				assert.NoError(t, err)
				assert.Equal(t, "shipped", status)
				assert.Equal(t, 1, d.calls)
				e := onlyEvent(t, in)
				assert.Equal(t, moment, e.Spent)
				assert.True(t, e.Delivered, "the caller waited")
				assert.Equal(t, chaos.OutcomeOK, e.Outcome)
			})
		})
	}
}

// Where the wait and the caller's deadline end at one instant, the deadline
// counts, in every run.
func TestDeadlineAtTheSameInstant(t *testing.T) {
	for range 20 {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			ctx, _ := withRules(t, chaos.Rule{Fault: fault.Timeout(time.Second)})
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := call(ctx)
			assert.EqualError(t, err, context.DeadlineExceeded.Error())
		})
	}
}

// What the callee answered under a lost reply makes no difference, unless
// another fault has failed the call before.
func TestWhatLoseReplyLoses(t *testing.T) {
	errNotFound := errors.New("no such order")
	t.Run("an error of the callee", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			d.fail = errNotFound
			ctx, in := withRules(t, chaos.Rule{Fault: fault.LoseReply()})
			_, err := call(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, errNotFound)
			assert.Equal(t, chaos.EffectUnknown, onlyEvent(t, in).Effect, "it failed: who knows how far it came")
		})
	})
	t.Run("an error injected further in", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			inner := chaos.Wrap("db", func(context.Context, int) (int, error) { return 0, nil })
			ctx, _ := withRules(t, chaos.Rule{Fault: fault.LoseReply()},
				chaos.Rule{Target: "db", Fault: fault.Fail(fault.ErrUnavailable)})
			outer := chaos.Wrap("orders.status", inner)
			_, err := outer(ctx, 1)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, fault.ErrUnavailable)
		})
	})
	t.Run("an error injected into a deeper call of the same target", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			ctx, _ := withRules(t, chaos.Rule{When: when.Nth(1), Fault: fault.LoseReply()},
				chaos.Rule{When: when.Nth(2), Fault: fault.Fail(fault.ErrUnavailable)})
			outer := chaos.Wrap(target, func(ctx context.Context, _ int) (string, error) { return call(chaos.WithReentry(ctx)) })
			_, err := outer(ctx, 1)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, fault.ErrUnavailable)
		})
	})
	t.Run("not the failure of another fault", func(t *testing.T) {
		everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
			for i, failing := range []chaos.Fault{fault.Fail(fault.ErrUnavailable), fault.Timeout(time.Minute)} {
				ctx, in := withRules(t, chaos.Rule{Name: "lost", Fault: fault.LoseReplyAfter(time.Hour)},
					chaos.Rule{Name: "failing", Fault: failing})
				spent := took(func() { _, _ = call(ctx) })
				assert.Equal(t, time.Duration(i)*time.Minute, spent)
				e := onlyEvent(t, in)
				assert.Equal(t, "failing", e.Rule)
				assert.Equal(t, []string{"lost"}, e.Masked)
			}
			assert.Zero(t, d.calls)
		})
	})
}
