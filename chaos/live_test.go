package chaos_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// A group whose last rule is replaced or removed begins afresh with the next;
// one that has a rule left goes on counting.
func TestAGroupThatComesBackBeginsAfresh(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(context.Background(), in)
	a, b := chaos.Wrap("a", double), chaos.Wrap("b", double)
	cutA := chaos.Rule{Name: "a", Target: "a", Group: "g", Limit: 2, Fault: down()}
	cutB := chaos.Rule{Name: "b", Target: "b", Group: "g", Limit: 2, Fault: down()}

	require.NoError(t, in.Register(cutA))
	assert.Len(t, hits(t, ctx, 5, a), 2)
	require.NoError(t, in.Register(cutA))
	assert.Len(t, hits(t, ctx, 5, a), 2, "replaced")
	require.True(t, in.Remove("a"))
	require.NoError(t, in.Register(cutA))
	assert.Len(t, hits(t, ctx, 5, a), 2, "removed and registered again")
	require.NoError(t, in.Register(cutB))
	assert.Empty(t, hits(t, ctx, 5, b), "the limit of the group was used up by the rule that is still there")
}

func TestCoolDownDoesNotDependOnTheClockThatArmSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ctx := recording(t, chaos.Rule{Target: "work", CoolDown: time.Second, Fault: down()})
		work := chaos.Wrap("work", double)
		time.Sleep(time.Hour)
		assert.Equal(t, []int{0}, hits(t, ctx, 3, work))
		in.Arm()
		assert.Empty(t, hits(t, ctx, 3, work), "not over yet")
		time.Sleep(time.Second)
		assert.Equal(t, []int{0}, hits(t, ctx, 3, work), "over, though the clock says one second and the delivery was at one hour")

		_, ctx = recording(t, chaos.Rule{Target: "work", CoolDown: math.MaxInt64, Fault: down()})
		time.Sleep(time.Second)
		assert.Equal(t, []int{0}, hits(t, ctx, 3, work), "a cool-down without end")
	})
}

// Recording calls does not change what is injected, even if the injector was disarmed
// for a while: calls are counted all the same.
func TestRecordingChangesNothing(t *testing.T) {
	run := func(record bool) (injected []int) {
		in := plan(t, chaos.Rule{Target: "work", When: ordinals(3), Fault: down()},
			chaos.Rule{Name: "group", Group: "g", Target: "work", When: ordinals(5), Fault: down()},
			chaos.Rule{Name: "chance", Target: "work", When: chance(0.3), Fault: down()}).
			Injector("", &chaos.InjectorOptions{RecordAll: record})
		ctx := chaos.NewContext(context.Background(), in)
		work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n % 2) }})
		in.Disarm()
		assert.Empty(t, hits(t, ctx, 2, work))
		in.Arm()
		return hits(t, ctx, 20, work)
	}
	injected := run(true)
	assert.Equal(t, injected, run(false))
	assert.Contains(t, injected, 1, "the fourth call, two of which came while it was disarmed")
	assert.Contains(t, injected, 3, "the sixth of the group")
}

// An injector may be made outside the bubble in which it is used; its clock
// then starts with Arm.
func TestAnInjectorMadeOutsideTheBubble(t *testing.T) {
	in := plan(t, chaos.Rule{Target: "work", When: whenFunc(func(c chaos.Call) bool { return c.Elapsed() == time.Minute }), Fault: delay(time.Hour)}).
		Injector("", nil)
	synctest.Test(t, func(t *testing.T) {
		in.Arm()
		time.Sleep(time.Minute)
		ctx, start := chaos.NewContext(t.Context(), in), time.Now()
		_, err := chaos.Wrap("work", double)(ctx, 1)
		assert.NoError(t, err)
		assert.Equal(t, time.Hour, time.Since(start))
		assert.Equal(t, time.Minute, only(t, in).Start)
	})
}

// Several groups at one target count apart, each over its own targets.
func TestSeveralGroupsAtOneTarget(t *testing.T) {
	nth := map[string]map[string][]uint64{"g": {}, "h": {}}
	note := func(group string) chaos.When {
		return whenFunc(func(c chaos.Call) bool {
			nth[group][c.Target] = append(nth[group][c.Target], c.Ordinal)
			assert.Equal(t, c.Ordinal, c.Occurrence)
			assert.Zero(t, c.Key)
			return false
		})
	}
	_, ctx := recording(t,
		chaos.Rule{Name: "1", Target: "{a,b}", Group: "g", When: note("g"), Fault: down()},
		chaos.Rule{Name: "2", Target: "{b,c}", Group: "h", When: note("h"), Fault: down()})
	for _, target := range []string{"a", "b", "c", "b", "a", "c"} {
		_, _ = chaos.WrapWith(target, double, &chaos.WrapOptions[int]{Key: func(int) uint64 { return 7 }})(ctx, 1)
	}
	assert.Equal(t, map[string]map[string][]uint64{
		"g": {"a": {0, 3}, "b": {1, 2}},
		"h": {"b": {0, 2}, "c": {1, 3}},
	}, nth)
}

func TestStatefulFaultsInAGroupRememberApart(t *testing.T) {
	_, ctx := recording(t,
		chaos.Rule{Name: "1", Target: "a", Group: "g", Fault: counter{new(int)}},
		chaos.Rule{Name: "2", Target: "b", Group: "g", Fault: counter{new(int)}})
	assert.Equal(t, []int{2, 3}, hits(t, ctx, 4, chaos.Wrap("a", double)))
	assert.Equal(t, []int{2, 3}, hits(t, ctx, 4, chaos.Wrap("b", double)))
}

// Coordinates whose concatenation is equal give different draws.
func TestCoordinatesAreNotConcatenated(t *testing.T) {
	draws := map[float64]string{}
	for _, names := range [][4]string{{"ab", "c", "d", "e"}, {"a", "bc", "d", "e"}, {"a", "b", "cd", "e"}, {"a", "b", "c", "de"}, {"abcd", "", "e", "f"}, {"", "abcd", "e", "f"}} {
		when := whenFunc(func(c chaos.Call) bool {
			where := fmt.Sprint(names)
			assert.Empty(t, draws[c.Draw(0)], where)
			draws[c.Draw(0)] = where
			return false
		})
		in := plan(t, chaos.Rule{Name: names[3], Target: "*", When: when, Fault: down()}).Injector(names[0], nil)
		ctx := chaos.WithLane(chaos.NewContext(context.Background(), in), names[1])
		_, _ = chaos.Wrap(names[2], double)(ctx, 1)
	}
	assert.Len(t, draws, 6)
}

// A target, a group and a rule of one name have different draws.
func TestNamesOfDifferentThingsDrawApart(t *testing.T) {
	var draws []float64
	note := whenFunc(func(c chaos.Call) bool { draws = append(draws, c.Draw(0)); return false })
	in := plan(t, chaos.Rule{Name: "orders", Target: "orders", When: note, Fault: down()},
		chaos.Rule{Name: "group", Target: "orders", Group: "orders", When: note, Fault: down()}).Injector("", nil)
	ctx := chaos.NewContext(context.Background(), in)
	_, _ = chaos.Wrap("orders", double)(ctx, 1)
	_, _ = in.InjectNow(ctx, "orders")
	require.Len(t, draws, 3)
	assert.NotEqual(t, draws[0], draws[1], "the rule and the group")
	assert.NotEqual(t, draws[0], draws[2], "a call and a request")
	assert.NotEqual(t, draws[1], draws[2])
}

// InjectNow asks a trigger that looks at arguments with nil.
func TestTriggerHasNoArguments(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	var seen []any
	w := argsWhen(func(args any) bool { seen = append(seen, args); return args == nil })
	require.NoError(t, in.Register(chaos.Rule{Name: "r", Target: "work", When: w, Fault: down()}))
	injected, err := in.InjectNow(context.Background(), "r")
	assert.True(t, injected)
	assert.ErrorIs(t, err, errDown)
	assert.Equal(t, []any{nil}, seen)
	e := only(t, in)
	assert.Equal(t, "r", e.Target, "there is no target: the event has the rule's name")
	assert.Equal(t, chaos.EffectNone, e.Effect)
}

// Memory is bounded on a server that runs for ever, with any number of keys, of
// failing calls and of groups.
func TestALiveInjectorsMemoryIsBounded(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	ctx := chaos.NewContext(context.Background(), in)
	work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Key: func(n int) uint64 { return uint64(n) + 1 }})
	require.NoError(t, in.Register(chaos.Rule{Name: "down", Target: "work", Fault: down()}))
	for i := range 150_000 {
		_, _ = work(ctx, i)
	}
	for i := range 1000 {
		require.NoError(t, in.Register(chaos.Rule{Name: "outage", Target: "work", Group: fmt.Sprint(i), Limit: 1, Fault: down()}))
	}
	keys, failing, groups := chaos.KeyCount(in)
	assert.LessOrEqual(t, keys, 1<<16)
	assert.LessOrEqual(t, failing, 1<<12)
	assert.Equal(t, 1, groups)
	assert.Len(t, in.Events(), 4096)
	assert.EqualValues(t, 150_000-4096, in.Dropped())
}

// A call whose wait Disarm ended gets no further fault, even if Arm follows before the
// call goes on. It does not end before it began, although Arm set the clock back.
func TestArmingAgainDoesNotCatchTheCallsThatWereLetGo(t *testing.T) {
	for _, tt := range []struct {
		why   string
		fault chaos.Fault // of a rule that matches besides the wait
	}{
		{"a failure behind the wait", down()},
		{"a further wait", delay(time.Hour)},
		{"a change", replace(7)},
	} {
		synctest.Test(t, func(t *testing.T) {
			in, ctx := recording(t, chaos.Rule{Name: "wait", Target: "work", Fault: delay(time.Hour)},
				chaos.Rule{Name: "other", Target: "work", Fault: tt.fault})
			work := chaos.Wrap("work", double)
			time.Sleep(time.Minute)
			go func() {
				time.Sleep(time.Second)
				in.Disarm()
				in.Arm()
			}()
			result, err := work(ctx, 1)
			require.NoError(t, err, tt.why)
			assert.Equal(t, 2, result, tt.why)
			event := in.Events()[0]
			assert.Equal(t, []string{"other"}, event.Masked, tt.why)
			assert.Equal(t, time.Second, event.Spent, tt.why)
			assert.Equal(t, event.Start, event.End, "%s: the clock shows less than when it began", tt.why)

			in.Remove("wait")
			in.Remove("other")
			require.NoError(t, in.Register(chaos.Rule{Target: "work", Fault: down()}))
			_, err = work(ctx, 1)
			require.ErrorIs(t, err, chaos.ErrInjected, "%s: the next call meets the rules", tt.why)
		})
	}
}
