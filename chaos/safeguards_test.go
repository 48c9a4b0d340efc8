package chaos_test

import (
	"context"
	"errors"
	"iter"
	"strings"
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

// pattern calls n times, and marks the calls that failed.
func pattern(ctx context.Context, n int) (marks string) {
	for range n {
		if chaos.Point(ctx, "work") != nil {
			marks += "x"
		} else {
			marks += "."
		}
	}
	return marks
}

func TestSafeguardsHoldBack(t *testing.T) {
	for _, c := range []struct {
		why        string
		safeguards chaos.Safeguards
		want       string
		by         string // names the safeguard that held the last call back
	}{
		{"no limit", chaos.Safeguards{}, "xxxxxxxxxx", ""},
		{"three in all", chaos.Safeguards{Budget: 3}, "xxx.......", "budget"},
		{"another target", chaos.Safeguards{Targets: []string{"play"}}, "..........", ""},
		{"this target", chaos.Safeguards{Targets: []string{"play", "w*"}}, "xxxxxxxxxx", ""},
		{"targets that are no globs", chaos.Safeguards{Targets: []string{"["}}, "..........", "invalid"},
		{"other targets, one of them no glob", chaos.Safeguards{Targets: []string{"play", "["}}, "..........", "invalid"},
		{"safeguards that make no sense", chaos.Safeguards{Budget: -1}, "..........", "invalid"},
	} {
		t.Run(c.why, func(t *testing.T) {
			in, ctx := guarded(t, c.safeguards)
			assert.Equal(t, c.want, pattern(ctx, 10))
			_, by, _ := strings.Cut(in.Events()[9].Note, `rule "down" was held back by the safeguards: `)
			assert.Equal(t, c.by, by)
			assert.Zero(t, chaos.SafeguardsPending(in))
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
}

// An undelivered fault does not count.
func TestSafeguardsCountDeliveries(t *testing.T) {
	_, ctx := guarded(t, chaos.Safeguards{Budget: 2},
		chaos.Rule{Name: "nothing", Target: "work", When: ordinals(0, 1, 2, 3, 4), Fault: passing(chaos.PhaseChange, nil)},
		chaos.Rule{Name: "down", Target: "work", When: ordinals(5, 6, 7), Fault: down()})
	assert.Equal(t, ".....xx.", pattern(ctx, 8))
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
		assert.Equal(t, "..", pattern(two, 2))
		assert.Equal(t, time.Minute, time.Since(start), "nothing waits any more")
		injected, err := other.InjectNow(context.Background(), "slow")
		assert.False(t, injected)
		assert.NoError(t, err)
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
	bad := chaos.Safeguards{Budget: -1, Targets: []string{"a", "["}}
	err := bad.Check()
	assert.EqualError(t, err, `chaos: safeguards: Budget is -1; allowed: a number of faults, or 0 for no limit
chaos: safeguards: Targets[1] is "["; allowed: a glob over names of injection points, such as "orders.*"`)
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &bad})
	assert.EqualError(t, in.Register(chaos.Rule{Target: "a", Fault: down()}), err.Error())
	assert.NoError(t, (&chaos.Safeguards{}).Check())
	assert.NoError(t, (*chaos.Safeguards)(nil).Check(), "nil bounds nothing")
}

// Many callers at once never get past a limit.
func TestSafeguardsUnderConcurrency(t *testing.T) {
	var injected atomic.Int64
	busy := faultFunc{chaos.PhaseInstead, func(context.Context, chaos.Call, any, chaos.Next) (any, error) {
		if injected.Add(1)%3 == 0 {
			panic("boom")
		}
		return nil, errors.New("busy")
	}}
	in, ctx := guarded(t, chaos.Safeguards{Budget: 60, Kill: make(chan struct{})}, chaos.Rule{Name: "busy", Target: "work", Fault: busy})
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
	assert.EqualValues(t, 60, injected.Load())
	assert.Zero(t, chaos.SafeguardsPending(in))
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
