package chaos_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

func hits(t *testing.T, ctx context.Context, n int, call func(context.Context, int) (int, error)) (injected []int) {
	t.Helper()
	for i := range n {
		if _, err := call(ctx, i); errors.Is(err, chaos.ErrInjected) {
			injected = append(injected, i)
		}
	}
	return injected
}

func TestLimitHoldsAmongConcurrentCalls(t *testing.T) {
	in, ctx := recording(t, chaos.Rule{Target: "work", Limit: 10, Fault: down()})
	work := chaos.Wrap("work", double)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { hits(t, ctx, 100, work) })
	}
	wg.Wait()
	delivered := 0
	for _, e := range in.Events() {
		if e.Delivered {
			delivered++
		}
	}
	assert.Equal(t, 10, delivered)
	assert.Len(t, in.Events(), 800)
}

// The rules of a group see one count over all their targets: a partition cuts
// them all from the same moment on, and heals for all.
func TestGroupInjectsAndRecoversTogether(t *testing.T) {
	third := whenFunc(func(c chaos.Call) bool { return c.Ordinal >= 2 && c.Ordinal < 5 })
	_, ctx := recording(t,
		chaos.Rule{Target: "orders", Group: "east", When: third, Fault: down()},
		chaos.Rule{Target: "refunds", Group: "east", When: third, Fault: down()},
		chaos.Rule{Target: "mail", When: third, Fault: down()})
	var got []bool
	for _, target := range []string{"orders", "refunds", "orders", "refunds", "refunds", "orders", "refunds", "mail", "mail"} {
		_, err := chaos.Wrap(target, double)(ctx, 1)
		got = append(got, err != nil)
	}
	assert.Equal(t, []bool{false, false, true, true, true, false, false, false, false}, got)
}

func TestGroupDrawsOnceForAllItsTargetsButJittersEach(t *testing.T) {
	type draw struct{ when, fault float64 }
	var draws []draw
	var w float64
	when := whenFunc(func(c chaos.Call) bool { w = c.Draw(0); return true })
	f := faultFunc{chaos.PhaseInstead, func(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
		draws = append(draws, draw{w, c.Draw(0)})
		return nil, errDown
	}}
	run := func(targets ...string) []draw {
		draws = nil
		_, ctx := recording(t, chaos.Rule{Name: "r", Target: "*", Group: "east", When: when, Fault: f})
		for _, target := range targets {
			_, _ = chaos.Wrap(target, double)(ctx, 1)
		}
		return draws
	}
	ab, aa := run("a", "b"), run("a", "a")
	assert.Equal(t, ab[1].when, aa[1].when, "the second call of the group has one draw, whatever its target")
	assert.NotEqual(t, ab[0].fault, ab[1].fault, "the faults' own draws are of the target")
}

func TestLanesCountApart(t *testing.T) {
	_, ctx := recording(t, chaos.Rule{Target: "work", When: ordinals(0), Fault: down()})
	work := chaos.Wrap("work", double)
	assert.Equal(t, []int{0}, hits(t, chaos.WithLane(ctx, "a"), 3, work))
	assert.Equal(t, []int{0}, hits(t, chaos.WithLane(ctx, "b"), 3, work))
	assert.Empty(t, hits(t, chaos.WithLane(chaos.WithLane(ctx, "b"), "a"), 3, work), "lanes do not nest")
	assert.Equal(t, []int{0}, hits(t, ctx, 3, work))
}

func TestElapsedIsOneTimePerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []time.Duration
		ask := whenFunc(func(c chaos.Call) bool { seen = append(seen, c.Elapsed()); time.Sleep(time.Second); return false })
		in := plan(t, chaos.Rule{Name: "a", Target: "work", When: ask, Fault: down()}, chaos.Rule{Name: "b", Target: "work", When: ask, Fault: down()}).Injector("", nil)
		ctx := chaos.NewContext(t.Context(), in)
		time.Sleep(time.Minute)
		_, _ = chaos.Wrap("work", double)(ctx, 1)
		last := seen[len(seen)-2:]
		assert.Equal(t, last[0], last[1], "both triggers decide at one time")
		seen = nil
		_, _ = chaos.Wrap("work", double)(ctx, 1)
		assert.Len(t, seen, 2, "from the second call on the clock is read before they look")
		assert.Equal(t, seen[0], seen[1])
	})
}

func TestCloseRefusesLaterCallsAndThoseThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := 0
		work := chaos.Wrap("work", func(context.Context, int) (int, error) { reached++; return 0, nil })
		in, ctx := recording(t, chaos.Rule{Target: "work", When: ordinals(0), Fault: delay(time.Hour)})
		done := make(chan error)
		go func() {
			_, err := work(ctx, 1)
			done <- err
		}()
		time.Sleep(time.Minute)
		in.Close()
		_, err := work(ctx, 1)
		assert.ErrorIs(t, err, chaos.ErrCellEnded)
		assert.ErrorIs(t, <-done, chaos.ErrCellEnded, "it comes out of its wait and does not reach the callee")
		assert.Zero(t, reached)
		assert.EqualValues(t, 2, in.LateCalls())
		assert.ErrorIs(t, chaos.Point(ctx, "elsewhere"), chaos.ErrCellEnded)
	})
}

func TestLatencyDoesNotSerialiseItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := recording(t, chaos.Rule{Target: "work", Fault: delay(100 * time.Millisecond)})
		work := chaos.Wrap("work", double)
		start := time.Now()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = work(ctx, 1) })
		}
		wg.Wait()
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
	})
}

func TestLiveInjector(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Targets: []string{"work"}})
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.Wrap("work", double)
	assert.Empty(t, hits(t, ctx, 3, work))

	firstTwo := chaos.Rule{Name: "first", Target: "work", When: ordinals(0, 1), Fault: down()}
	require.NoError(t, in.Register(firstTwo))
	assert.Equal(t, []int{0, 1}, hits(t, ctx, 4, work), "counting begins with the registration")
	require.NoError(t, in.Register(chaos.Rule{Name: "other", Target: "work", When: ordinals(3), Fault: down()}))
	assert.Equal(t, []int{3}, hits(t, ctx, 4, work), "another rule's count goes on")
	require.NoError(t, in.Register(firstTwo))
	assert.Equal(t, []int{0, 1}, hits(t, ctx, 4, work), "a replaced rule starts afresh")
	assert.Equal(t, []string{"first", "other"}, names(in.Rules()), "in its old place")

	assert.True(t, in.Remove("first"))
	assert.False(t, in.Remove("first"))
	assert.Empty(t, hits(t, ctx, 4, work))

	err := in.Register(chaos.Rule{Name: "typo", Target: "wrok", Fault: down()})
	var problem *chaos.RuleError
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, "Target", problem.Field)
	assert.Contains(t, err.Error(), "work", "it says what there is")
}

func names(rules []chaos.Rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

func TestLiveGroupCountsFromItsRegistration(t *testing.T) {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
	ctx := chaos.NewContext(context.Background(), in)
	a, b := chaos.Wrap("a", double), chaos.Wrap("b", double)
	require.NoError(t, in.Register(chaos.Rule{Name: "old", Target: "a", Group: "g", When: ordinals(99), Fault: down()}))
	hits(t, ctx, 5, a)
	require.NoError(t, in.Register(chaos.Rule{Name: "new", Target: "{a,b}", Group: "g", When: ordinals(1), Fault: down()}))
	assert.Empty(t, hits(t, ctx, 1, a))
	assert.Equal(t, []int{0}, hits(t, ctx, 3, b), "b was never called before; the group's second call since the registration is its first")
}

func TestTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := chaos.NewInjector(1, nil)
		require.NoError(t, in.Register(chaos.Rule{Name: "slow", Target: "work", Fault: delay(time.Minute)}))
		require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "work", When: ordinals(1), Limit: 1, Fault: down()}))
		start := time.Now()
		injected, err := in.InjectNow(t.Context(), "slow")
		assert.True(t, injected)
		assert.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(start), "a latency is waited out")

		injected, err = in.InjectNow(t.Context(), "down")
		assert.False(t, injected, "does not match the first time")
		assert.NoError(t, err)
		injected, err = in.InjectNow(t.Context(), "down")
		assert.True(t, injected)
		assert.ErrorIs(t, err, errDown)
		injected, err = in.InjectNow(t.Context(), "down")
		assert.False(t, injected)
		assert.NoError(t, err)

		_, err = in.InjectNow(t.Context(), "unheard-of")
		assert.ErrorIs(t, err, chaos.ErrUnknownRule)
		assert.ErrorContains(t, err, "slow, down")
		in.Close()
		_, err = in.InjectNow(t.Context(), "slow")
		assert.ErrorIs(t, err, chaos.ErrCellEnded)
	})
}

func TestTargetsAndUnfired(t *testing.T) {
	in := plan(t, chaos.Rule{Name: "a", Target: "work", Fault: down()}, chaos.Rule{Name: "b", Target: "rest", Fault: down()}).
		Injector("cell", &chaos.InjectorOptions{Targets: []string{"work", "mail"}, RecordAll: true})
	ctx := chaos.NewContext(context.Background(), in)
	hits(t, ctx, 1, chaos.Wrap("work", double))
	hits(t, chaos.WithLane(ctx, "x"), 1, chaos.Wrap("extra", double))
	assert.Equal(t, []string{"extra", "mail", "work"}, in.Targets())
	assert.Equal(t, []string{"b"}, in.Undelivered())
}

func TestLogKeepsTheNewestAndCountsTheRest(t *testing.T) {
	for _, tt := range []struct {
		max, kept int
		why       string
	}{{3, 3, "the newest"}, {0, 10, "4096 by default"}, {-1, 0, "none"}} {
		in := plan(t).Injector("cell", &chaos.InjectorOptions{RecordAll: true, MaxLog: tt.max})
		hits(t, chaos.NewContext(context.Background(), in), 10, chaos.Wrap("work", double))
		events := in.Events()
		assert.Len(t, events, tt.kept, tt.why)
		assert.EqualValues(t, 10-tt.kept, in.Dropped(), tt.why)
		if len(events) > 0 {
			assert.EqualValues(t, 9, events[len(events)-1].Ordinal, tt.why)
		}
	}
}

func TestOnEventRunsInTheCallersGoroutineBeforeTheCallReturns(t *testing.T) {
	var seen []chaos.Event
	in := plan(t, chaos.Rule{Target: "work", When: ordinals(1), Fault: down()}).
		Injector("cell", &chaos.InjectorOptions{OnEvent: func(_ context.Context, e chaos.Event) { seen = append(seen, e) }})
	hits(t, chaos.NewContext(context.Background(), in), 3, chaos.Wrap("work", double))
	require.Len(t, seen, 1, "only injected calls, without Record")
	assert.Equal(t, in.Events(), seen)
}

func TestManyLanesAndKeysStayBounded(t *testing.T) {
	in := plan(t, chaos.Rule{Target: "work", When: ordinals(0), Fault: down()}).Injector("", nil)
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.Wrap("work", double)
	for i := range 40_000 {
		_, _ = work(chaos.WithLane(ctx, string(rune(i+1000))), i)
	}
	assert.LessOrEqual(t, len(in.Targets()), 1)
	assert.Less(t, chaos.SiteCount(in), 1<<15)
}

type counter struct{ n *int }

func (c counter) Fresh() chaos.Fault { return counter{new(int)} }
func (c counter) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	if *c.n++; *c.n > 2 {
		return nil, errDown
	}
	return next(ctx, args)
}

func TestStatefulFaultsAreFreshPerInjector(t *testing.T) {
	p := plan(t, chaos.Rule{Target: "work", Fault: counter{new(int)}})
	for cell := range 3 {
		ctx := chaos.NewContext(context.Background(), p.Injector("cell", nil))
		assert.Equal(t, []int{2, 3}, hits(t, ctx, 4, chaos.Wrap("work", double)), "cell %d", cell)
	}
}
