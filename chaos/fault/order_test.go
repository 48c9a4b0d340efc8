package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func add(suffix string) chaos.Fault {
	return fault.Mutate("add "+suffix, func(s string) string { return s + suffix })
}

// All delays; the first failing rule; the callee; changes in order; a lost
// reply: wherever the rules stand in the plan.
func TestOrderOnOneCall(t *testing.T) {
	const ms = time.Millisecond
	rule := func(name string, f chaos.Fault) chaos.Rule { return chaos.Rule{Name: name, Fault: f} }
	for _, c := range []struct {
		why   string
		rules []chaos.Rule
		value string
		is    error
		spent time.Duration
		calls int
		rule  string
		also  []string
		mask  []string
	}{
		{why: "delays add up", rules: []chaos.Rule{rule("a", fault.Delay(100*ms)), rule("b", fault.Delay(20*ms))},
			value: "shipped", spent: 120 * ms, calls: 1, rule: "b", also: []string{"a"}},
		{why: "the first failure decides and hides the next",
			rules: []chaos.Rule{rule("a", fault.Fail(fault.ErrUnavailable)), rule("b", fault.Fail(fault.ErrInternal))},
			is:    fault.ErrUnavailable, rule: "a", mask: []string{"b"}},
		{why: "delays come before a failure, though written after it",
			rules: []chaos.Rule{rule("a", fault.Partition()), rule("b", fault.Delay(20*ms))},
			is:    fault.ErrNetworkPartition, spent: 20 * ms, rule: "a", also: []string{"b"}},
		{why: "a failure leaves no result to change and no reply to lose",
			rules: []chaos.Rule{rule("a", add("!")), rule("b", fault.LoseReply()), rule("c", fault.ResourceExhausted())},
			is:    fault.ErrResourceExhausted, rule: "c", mask: []string{"a", "b"}},
		{why: "changes apply in the order of their rules",
			rules: []chaos.Rule{rule("a", add("!")), rule("b", add("?"))},
			value: "shipped!?", calls: 1, rule: "b", also: []string{"a"}},
		{why: "a call executed twice is changed once",
			rules: []chaos.Rule{rule("a", add("!")), rule("b", fault.Duplicate())},
			value: "shipped!", calls: 2, rule: "a", also: []string{"b"}},
		{why: "a call executed twice can still lose its reply",
			rules: []chaos.Rule{rule("a", fault.LoseReply()), rule("b", fault.Duplicate())},
			is:    context.DeadlineExceeded, spent: time.Second, calls: 2, rule: "a", also: []string{"b"}},
		{why: "the first of two that decide is the one",
			rules: []chaos.Rule{rule("a", fault.Duplicate()), rule("b", fault.Fail(fault.ErrInternal))},
			value: "shipped", calls: 2, rule: "a", mask: []string{"b"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
				ctx, in := withRules(t, c.rules...)
				var value string
				var err error
				assert.Equal(t, c.spent, took(func() { value, err = call(ctx) }))
				assert.Equal(t, c.value, value)
				assert.ErrorIs(t, err, c.is)
				assert.Equal(t, c.calls, d.calls)
				e := onlyEvent(t, in)
				assert.Equal(t, c.rule, e.Rule)
				assert.Equal(t, c.also, e.Also)
				assert.Equal(t, c.mask, e.Masked)
				assert.Equal(t, c.spent, e.Spent)
				assert.Equal(t, c.spent, e.Asked)
			})
		})
	}
}

// The event shows each change as its fault saw it.
func TestChangesInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, in := withRules(t, chaos.Rule{Name: "a", Fault: add("!")}, chaos.Rule{Name: "b", Fault: add("?")})
		_, err := call(ctx)
		require.NoError(t, err)
		var seen []string
		for _, ch := range onlyEvent(t, in).Changes {
			seen = append(seen, fmt.Sprintf("%s %s→%s", ch.Path, ch.Before, ch.After))
		}
		assert.Equal(t, []string{` "shipped"→"shipped!"`, ` "shipped!"→"shipped!?"`}, seen)
	})
}

// A lost reply is what the caller sees, whatever was to become of the reply.
func TestLostReplyIsOutermost(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		ctx, in := withRules(t, chaos.Rule{Name: "lost", Fault: fault.LoseReply()}, chaos.Rule{Name: "change", Fault: add("!")})
		_, err := call(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, d.calls)
		e := onlyEvent(t, in)
		assert.Equal(t, "lost", e.Rule)
		assert.Equal(t, []string{"change"}, e.Masked, "nobody saw it")
	})
}

// Only what was delivered uses up a limit: a replacement that changes nothing
// may come again.
func TestLimitCountsDeliveries(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
		d.reply = []string{"lost", "lost", "shipped"}
		ctx, in := withRules(t, chaos.Rule{Fault: fault.Replace("lost"), Limit: 1})
		var got []string
		for range 5 {
			value, err := call(ctx)
			require.NoError(t, err)
			got = append(got, value)
		}
		assert.Equal(t, []string{"lost", "lost", "lost", "shipped", "shipped"}, got)
		var delivered []bool
		for _, e := range in.Events() {
			delivered = append(delivered, e.Delivered)
		}
		assert.Equal(t, []bool{false, false, true, false, false}, delivered)
	})
}

// Each rule draws on its own: its probability is the share of the calls on
// that it matches, whatever rules come before it; rules are independent.
func TestProbabilitiesAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules []chaos.Rule
		for _, name := range []string{"a", "b", "c"} {
			rules = append(rules, chaos.Rule{Name: name, When: when.Prob(0.5), Fault: fault.Fail(errors.New(name))})
		}
		ctx, in := withRules(t, rules...)
		call := chaos.Wrap(target, func(context.Context, int) (int, error) { return 0, nil })
		const n = 4000
		for i := range n {
			_, _ = call(ctx, i)
		}
		drawn := map[string]float64{}
		for _, e := range in.Events() {
			names := e.Masked
			if e.Rule != "" {
				names = append([]string{e.Rule}, names...)
			}
			for i, name := range names {
				drawn[name]++
				for _, other := range names[i+1:] {
					drawn[name+other]++
				}
			}
		}
		const sigmas = 4 * 0.5 / 63.2 // four deviations of a share of 4000
		for _, name := range []string{"a", "b", "c"} {
			assert.InDelta(t, 0.5, drawn[name]/n, sigmas, "rule %s alone", name)
		}
		for _, pair := range []string{"ab", "ac", "bc"} {
			assert.InDelta(t, 0.25, drawn[pair]/n, sigmas, "rules %s together", pair)
		}
	})
}

// A partition begins and heals for all its targets at one moment.
func TestPartitionOfSeveralTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := withRules(t, chaos.Rule{
			Target: "{orders,stock}.*", When: when.Between(time.Second, 3*time.Second),
			Fault: fault.Partition(), Group: "eu-west",
		})
		cut := func(target string) bool {
			_, err := chaos.Wrap(target, func(context.Context, int) (int, error) { return 0, nil })(ctx, 0)
			return errors.Is(err, fault.ErrNetworkPartition)
		}
		for second := range 5 {
			partitioned := second == 1 || second == 2
			assert.Equal(t, partitioned, cut("orders.get"), "after %d s", second)
			assert.Equal(t, partitioned, cut("stock.reserve"), "after %d s", second)
			assert.False(t, cut("mail.send"))
			time.Sleep(time.Second)
		}
	})
}
