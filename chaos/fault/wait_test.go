package fault_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// Latency that grows, and latency with spikes, take the times they say.
func TestGrowingLatency(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		why   string
		fault chaos.Fault
		want  []time.Duration // of calls a second apart
	}{
		{"with every call, up to the most", fault.RampUp(100*ms, 250*ms), []time.Duration{100 * ms, 200 * ms, 250 * ms, 250 * ms}},
		{"with time, up to the most", fault.RampUpWith(300*ms, 3*time.Second), []time.Duration{0, 100 * ms, 210 * ms, 300 * ms}},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, in := withRules(t, chaos.Rule{Fault: c.fault})
				d := &desk{}
				call := wrapped(t, d)
				for i, want := range c.want {
					assert.Equal(t, want, took(func() { _, _ = call(ctx) }))
					assert.Equal(t, want > 0, in.Events()[i].Delivered)
					time.Sleep(time.Second)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, in := withRules(t, chaos.Rule{Fault: fault.Spike(0, time.Minute, 0.1)})
		call := wrapped(t, &desk{})
		for range 2000 {
			spent := took(func() { _, _ = call(ctx) })
			assert.Contains(t, []time.Duration{0, time.Minute}, spent)
		}
		spikes := 0
		for _, e := range in.Events() {
			if e.Delivered {
				spikes++
			}
		}
		assert.InDelta(t, 200, spikes, 54, "within four deviations of a share of a tenth")
	})
}

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

// A wait ends there and then with the caller's context, whose error the caller gets, and when the injector is
// disarmed: the call then goes through as if nothing had been. A context that had ended before leaves nothing to wait
// for: the call goes through, and whether it fails is the callee's affair, as without the fault. Only a reply that came
// all the same can be lost.
func TestWaitsEnd(t *testing.T) {
	for _, end := range []struct {
		name  string
		of    func(cancel context.CancelFunc, in *chaos.Injector)
		after time.Duration
		is    error
	}{
		{"cancelled", func(cancel context.CancelFunc, _ *chaos.Injector) { time.AfterFunc(moment, cancel) },
			moment, context.Canceled},
		{"deadline", nil, moment, context.DeadlineExceeded},
		{"disarmed", func(_ context.CancelFunc, in *chaos.Injector) { time.AfterFunc(moment, in.Disarm) },
			moment, nil},
		{"ended before", func(cancel context.CancelFunc, _ *chaos.Injector) { cancel() }, 0, nil},
	} {
		for name, f := range waiting() {
			t.Run(end.name+"/"+name, func(t *testing.T) {
				everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
					ctx, in := withRules(t, chaos.Rule{Fault: f})
					patience := 10_000 * time.Hour
					if end.of == nil {
						patience = moment
					}
					ctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					if end.of != nil {
						end.of(cancel, in)
					}
					var status string
					var err error
					assert.Equal(t, end.after, took(func() { status, err = call(ctx) }))
					e := onlyEvent(t, in)
					assert.Equal(t, end.after, e.Spent)
					lost := name == "LoseReply"
					is := end.is
					if lost && end.after == 0 {
						is = context.Canceled // there was a reply
					}
					assert.Equal(t, lost || is == nil, d.calls == 1, "only a lost reply has reached the callee")
					assert.Equal(t, end.after > 0 || is != nil, e.Delivered, "the caller waited, or lost a reply")
					if is == nil {
						assert.NoError(t, err, "this callee does not look at its context")
						assert.Equal(t, "shipped", status)
						assert.Equal(t, chaos.OutcomeOK, e.Outcome)
						assert.Equal(t, end.after == 0, len(in.Undelivered()) == 1)
						return
					}
					assert.ErrorIs(t, err, is)
					assert.ErrorIs(t, err, chaos.ErrInjected)
					assert.Equal(t, chaos.OutcomeInjected, e.Outcome)
				})
			})
		}
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
