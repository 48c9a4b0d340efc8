package chaos_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// guarded makes an injector with safeguards and a rule that always fails "work".
func guarded(t testing.TB, r chaos.Safeguards, rules ...chaos.Rule) (*chaos.Injector, context.Context) {
	t.Helper()
	if len(rules) == 0 {
		rules = []chaos.Rule{{Name: "down", Target: "*", Fault: down()}}
	}
	in := plan(t, rules...).Injector("cell", &chaos.InjectorOptions{RecordAll: true, Safeguards: &r})
	return in, chaos.NewContext(context.Background(), in)
}

// pattern calls n times, with a pause after each, and marks those that failed.
func pattern(ctx context.Context, n int, pause time.Duration) (marks string) {
	for range n {
		if chaos.Point(ctx, "work") != nil {
			marks += "x"
		} else {
			marks += "."
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
	return marks
}

func TestSafeguardsHoldBack(t *testing.T) {
	for _, c := range []struct {
		why        string
		safeguards chaos.Safeguards
		pause      time.Duration
		want       string
		held       map[string]uint64
	}{
		{"no limit", chaos.Safeguards{}, 0, "xxxxxxxxxx", map[string]uint64{}},
		{"three in all", chaos.Safeguards{Budget: 3}, 0, "xxx.......", map[string]uint64{"budget": 7}},
		{"a third of the calls", chaos.Safeguards{Share: 0.34}, 0, "..x..x..x.", map[string]uint64{"share": 7}},
		{"all of the calls", chaos.Safeguards{Share: 1}, 0, "xxxxxxxxxx", map[string]uint64{}},
		{"two a second, all at once", chaos.Safeguards{Rate: 2}, 0, "xx........", map[string]uint64{"rate": 8}},
		{"two a second, a call every 250 ms", chaos.Safeguards{Rate: 2}, 250 * time.Millisecond, "xxx.x.x.x.", map[string]uint64{"rate": 4}},
		{"one in two seconds", chaos.Safeguards{Rate: 0.5}, time.Second, "x.x.x.x.x.", map[string]uint64{"rate": 5}},
		{"one at a time, one after the other", chaos.Safeguards{Concurrent: 1}, 0, "xxxxxxxxxx", map[string]uint64{}},
		{"another target", chaos.Safeguards{Targets: []string{"play"}}, 0, "..........", map[string]uint64{}},
		{"this target", chaos.Safeguards{Targets: []string{"play", "w*"}}, 0, "xxxxxxxxxx", map[string]uint64{}},
		{"the first in the way is named", chaos.Safeguards{Budget: 1, Rate: 1, Share: 1}, 0, "x.........", map[string]uint64{"budget": 9}},
		{"targets that are no globs", chaos.Safeguards{Targets: []string{"["}}, 0, "..........", map[string]uint64{"invalid": 10}},
		{"other targets, one of them no glob", chaos.Safeguards{Targets: []string{"play", "["}}, 0, "..........", map[string]uint64{"invalid": 10}},
		{"safeguards that make no sense", chaos.Safeguards{Rate: math.NaN()}, 0, "..........", map[string]uint64{"invalid": 10}},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, ctx := guarded(t, c.safeguards)
				assert.Equal(t, c.want, pattern(ctx, 10, c.pause))
				assert.Equal(t, c.held, in.HeldBack())
				assert.Zero(t, chaos.SafeguardsPending(in))
			})
		})
	}
}

// The event of a call names the rules that were held back beside those injected.
func TestSafeguardsShowOnTheEvent(t *testing.T) {
	in, ctx := guarded(t, chaos.Safeguards{Budget: 1},
		chaos.Rule{Name: "slow", Target: "work", Fault: delay(time.Nanosecond)},
		chaos.Rule{Name: "down", Target: "work", Fault: down()})
	require.Error(t, chaos.Point(ctx, "work"), "of the two the failure asks first")
	e := only(t, in)
	assert.Equal(t, "down", e.Rule)
	assert.True(t, e.Delivered)
	assert.Equal(t, []string{"slow"}, e.HeldBack)
	assert.Empty(t, e.Masked)
	assert.Equal(t, `rule "slow" was held back by the safeguards: budget`, e.Note)
	assert.Zero(t, e.Asked)
	assert.Equal(t, map[string]uint64{"budget": 1}, in.HeldBack())
}

// The event of a recorded call says so if all its faults were held back.
func TestSafeguardsOnRecordedCall(t *testing.T) {
	in, ctx := guarded(t, chaos.Safeguards{Budget: 1})
	pattern(ctx, 2, 0)
	e := in.Events()[1]
	assert.Equal(t, []string{"down"}, e.HeldBack)
	assert.Empty(t, e.Masked)
	assert.Equal(t, `rule "down" was held back by the safeguards: budget`, e.Note)
	assert.False(t, e.Delivered)
	assert.Empty(t, e.Rule)
	assert.Equal(t, chaos.OutcomeOK, e.Outcome)
}

// An undelivered fault does not count.
func TestSafeguardsCountDeliveries(t *testing.T) {
	same := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		return next(ctx, args)
	}}
	in, ctx := guarded(t, chaos.Safeguards{Budget: 2, Rate: 2, Concurrent: 1},
		chaos.Rule{Name: "nothing", Target: "work", When: ordinals(0, 1, 2, 3, 4), Fault: same},
		chaos.Rule{Name: "down", Target: "work", When: ordinals(5, 6, 7), Fault: down()})
	assert.Equal(t, ".....xx.", pattern(ctx, 8, 0))
	assert.Equal(t, map[string]uint64{"budget": 1}, in.HeldBack())
}

// The rule's own limit does not count what the safeguards held back.
func TestSafeguardsBeforeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := guarded(t, chaos.Safeguards{Rate: 1}, chaos.Rule{Name: "down", Target: "work", Limit: 3, CoolDown: time.Millisecond, Fault: down()})
		assert.Equal(t, "x.x.x.....", pattern(ctx, 10, 500*time.Millisecond))
		assert.Equal(t, map[string]uint64{"rate": 2}, in.HeldBack())
	})
}

// The kill switch ends waits, lets those calls go through, and stops further
// injections, in all injectors that share it.
func TestKillSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kill, throw := context.WithCancel(context.Background())
		rules := []chaos.Rule{
			{Name: "slow", Target: "work", Fault: delay(time.Hour)},
			{Name: "down", Target: "work", Fault: down()},
		}
		_, one := guarded(t, chaos.Safeguards{Kill: kill.Done()}, rules...)
		other, two := guarded(t, chaos.Safeguards{Kill: kill.Done()}, rules...)
		start := time.Now()
		go func() { time.Sleep(time.Minute); throw() }()
		var wg sync.WaitGroup
		for _, ctx := range []context.Context{one, two} {
			wg.Go(func() { assert.NoError(t, chaos.Point(ctx, "work"), "the call goes through") })
		}
		wg.Wait()
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, "..", pattern(two, 2, 0))
		assert.Equal(t, time.Minute, time.Since(start), "nothing waits any more")
		injected, err := other.InjectNow(context.Background(), "slow")
		assert.False(t, injected)
		assert.NoError(t, err)
		assert.Equal(t, uint64(5), other.HeldBack()["kill"])
	})
}

// The kill switch stops the changes in the middle of a stream.
func TestKillSwitchInAStream(t *testing.T) {
	kill := make(chan struct{})
	_, ctx := guarded(t, chaos.Safeguards{Kill: kill}, chaos.Rule{Target: "work", Fault: replace("changed")})
	words := chaos.WrapStream("work", func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			_ = yield("one", nil) && yield("two", nil) && yield("three", nil)
		}
	})
	var got []string
	for word, err := range words(ctx, 0) {
		require.NoError(t, err)
		if got = append(got, word); len(got) == 2 {
			close(kill)
		}
	}
	assert.Equal(t, []string{"changed", "changed", "three"}, got)
}

// Register refuses a rule that could reach no allowed target, and restricts others.
func TestSafeguardsTargets(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Targets: []string{"orders.*", "search"}}})
	err := in.Register(chaos.Rule{Name: "pay", Target: "pay.*", Fault: down()})
	var refused *chaos.RuleError
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, `chaos: rule "pay": Target is "pay.*": reaches no allowed target; allowed: a glob that meets the targets of the safeguards: orders.*, search`)
	require.NoError(t, in.Register(chaos.Rule{Name: "gets", Target: "*.get", Fault: down()}), "orders.get is allowed")
	ctx := chaos.NewContext(context.Background(), in)
	assert.NoError(t, chaos.Point(ctx, "pay.get"))
	assert.Error(t, chaos.Point(ctx, "orders.get"))

	planned, ctx := guarded(t, chaos.Safeguards{Targets: []string{"orders.*"}},
		chaos.Rule{Name: "pay", Target: "pay.*", Fault: down()}, chaos.Rule{Name: "all", Target: "*", Fault: down()})
	assert.NoError(t, chaos.Point(ctx, "pay.get"))
	assert.Error(t, chaos.Point(ctx, "orders.get"))
	injected, err := planned.InjectNow(ctx, "pay")
	assert.False(t, injected, "nor by InjectNow")
	assert.NoError(t, err)
	assert.Equal(t, []string{"pay"}, planned.Undelivered())
}

func TestBadSafeguards(t *testing.T) {
	bad := chaos.Safeguards{Budget: -1, Share: 1.5, Rate: math.Inf(1), Concurrent: -1, Targets: []string{"a", "["}}
	err := bad.Check()
	assert.EqualError(t, err, `chaos: safeguards: Budget is -1; allowed: a number of faults, or 0 for no limit
chaos: safeguards: Share is 1.5; allowed: a share from 0 to 1; 0: no limit
chaos: safeguards: Rate is +Inf; allowed: a number of faults a second, or 0 for no limit
chaos: safeguards: Concurrent is -1; allowed: a number of faults, or 0 for no limit
chaos: safeguards: Targets[1] is "["; allowed: a glob over names of injection points, such as "orders.*"`)
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &bad})
	assert.Equal(t, err, in.Register(chaos.Rule{Target: "a", Fault: down()}))
	assert.NoError(t, (&chaos.Safeguards{}).Check())
	assert.NoError(t, (*chaos.Safeguards)(nil).Check(), "nil bounds nothing")
	assert.Empty(t, chaos.NewInjector(1, nil).HeldBack())
}

// Many callers at once never get past a limit.
func TestSafeguardsUnderConcurrency(t *testing.T) {
	var now, most, injected atomic.Int64
	busy := faultFunc{chaos.PhaseInstead, func(context.Context, chaos.Call, any, chaos.Next) (any, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		if injected.Add(1)%3 == 0 {
			panic("boom")
		}
		return nil, errors.New("busy")
	}}
	in, ctx := guarded(t, chaos.Safeguards{Budget: 60, Concurrent: 3, Kill: make(chan struct{})}, chaos.Rule{Name: "busy", Target: "work", Fault: busy})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				func() {
					defer func() { _ = recover() }()
					_ = chaos.Point(ctx, "work")
				}()
			}
		})
	}
	wg.Wait()
	assert.Positive(t, injected.Load())
	assert.LessOrEqual(t, injected.Load(), int64(60))
	assert.LessOrEqual(t, most.Load(), int64(3))
	assert.Zero(t, chaos.SafeguardsPending(in))
	held := in.HeldBack()
	assert.Equal(t, uint64(16*100-injected.Load()), held["budget"]+held["concurrent"])
}

// A request of InjectNow counts for Share.
func TestSafeguardsShareOfTriggers(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Share: 0.5}})
	require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "x", Fault: down()}))
	var marks string
	for range 4 {
		injected, _ := in.InjectNow(t.Context(), "down")
		marks += map[bool]string{false: ".", true: "x"}[injected]
	}
	assert.Equal(t, ".x.x", marks, "every other one")
	assert.Equal(t, map[string]uint64{"share": 2}, in.HeldBack())
}

// The allow-list matches both names of a point, as rules do.
func TestSafeguardsTargetsAndAlias(t *testing.T) {
	for _, allowed := range []string{"POST /chat", "POST /chat#small"} {
		in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{Targets: []string{allowed}}})
		require.NoError(t, in.Register(chaos.Rule{Target: "POST /chat*", Fault: down()}))
		call := func(context.Context, int) (int, error) { return 1, nil }
		small := chaos.WrapWith("POST /chat#small", call, &chaos.WrapOptions[int]{Injector: in, Alias: "POST /chat"})
		other := chaos.WrapWith("POST /chats", call, &chaos.WrapOptions[int]{Injector: in})
		_, err := small(t.Context(), 1)
		assert.ErrorIs(t, err, chaos.ErrInjected, allowed)
		_, err = other(t.Context(), 1)
		assert.NoError(t, err, allowed)
	}
}
