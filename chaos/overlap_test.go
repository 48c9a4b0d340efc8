package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// scripted is a call of a script: its place, and the steps at which it is under way.
type scripted struct {
	lane, target string
	begin, end   int // end is begin if a fault answered at once
	ordinal      uint64
	matched      bool
}

// TestOverlap: the oracle compares all pairs of calls, by the steps of a script.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nth := rapid.IntRange(1, 4).Draw(t, "nth")
		group := rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")
		instant := rapid.Bool().Draw(t, "a fault that answers at once")
		rule := chaos.Rule{Name: "r", Target: "{a,b}", Group: group, When: when.Nth(nth), Fault: passing(chaos.PhaseChange, nil)}
		if instant {
			rule.Fault = failer{errors.New("down")}
		}
		plan, err := chaos.NewPlan(1, rule)
		if err != nil {
			t.Fatal(err)
		}
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true})
		var calls []*scripted
		var under []*scripted
		release, ended := map[*scripted]chan struct{}{}, map[*scripted]chan struct{}{}
		counts := map[string]uint64{}
		steps := rapid.IntRange(1, 14).Draw(t, "steps")
		finish := func(i, step int) {
			c := under[i]
			under = slices.Delete(under, i, i+1)
			close(release[c])
			<-ended[c]
			c.end = step
		}
		for step := range steps {
			if len(under) > 0 && rapid.Bool().Draw(t, "ends") {
				finish(rapid.IntRange(0, len(under)-1).Draw(t, "which"), step)
				continue
			}
			c := &scripted{lane: rapid.SampledFrom([]string{"", "l"}).Draw(t, "lane"), target: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "target"), begin: step, end: -1}
			at := c.lane + "/" + c.target
			if group != "" && c.target != "c" {
				at = c.lane
			}
			c.ordinal = counts[at]
			counts[at]++
			c.matched = c.target != "c" && c.ordinal == uint64(nth-1)
			begun, let, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
			release[c], ended[c] = let, over
			f := chaos.Wrap(c.target, func(context.Context, int) (int, error) {
				close(begun)
				<-let
				return 0, nil
			})
			go func() {
				defer close(over)
				_, _ = f(chaos.WithLane(chaos.NewContext(context.Background(), in), c.lane), 0)
			}()
			calls = append(calls, c)
			if c.matched && instant {
				<-over
				c.end = step
				continue
			}
			<-begun
			under = append(under, c)
		}
		for len(under) > 0 {
			finish(0, steps)
		}
		want := false
		for _, a := range calls {
			for _, b := range calls {
				same := a.lane == b.lane && (a.target == b.target || group != "") && a.target != "c" && b.target != "c"
				want = want || same && a.matched && !b.matched && a.begin <= b.end && b.begin <= a.end
			}
		}
		matched, other, got := in.Overlap("r")
		if got != want {
			t.Fatalf("overlap %v, want %v, of %s", got, want, list(calls))
		}
		if got && (matched.Lane != other.Lane || matched.Target == "c" || other.Target == "c" || matched.Rule == other.Rule && group == "") {
			t.Fatalf("%v and %v", matched, other)
		}
		if _, _, ok := in.Overlap("no such rule"); ok {
			t.Fatal("a rule that is not there")
		}
	})
}

func list(calls []*scripted) (text string) {
	for _, c := range calls {
		text += fmt.Sprintf("%+v ", *c)
	}
	return text
}

// A call within another one always begins after it: what a strand of calls does repeats,
// however its calls are nested. Calls at the same time within one call do not.
func TestOverlapOfNestedCalls(t *testing.T) {
	inner := chaos.Wrap("inner", func(_ context.Context, held chan struct{}) (int, error) {
		if held != nil {
			held <- struct{}{}
			<-held
		}
		return 0, nil
	})
	middle := chaos.Wrap("middle", func(ctx context.Context, _ int) (int, error) { return inner(ctx, nil) })
	for _, tc := range []struct {
		why   string
		outer func(context.Context, int) (int, error)
		want  bool
	}{
		{"a call", func(ctx context.Context, _ int) (int, error) { return inner(ctx, nil) }, false},
		{"a call within a call that the rule does not count", middle, false},
		{"two calls, one after the other", func(ctx context.Context, _ int) (int, error) {
			_, _ = inner(ctx, nil)
			return middle(ctx, 0)
		}, false},
		{"two calls at the same time", func(ctx context.Context, _ int) (int, error) {
			held, over := make(chan struct{}), make(chan struct{})
			go func() { defer close(over); _, _ = inner(ctx, held) }()
			<-held
			_, _ = inner(ctx, nil)
			held <- struct{}{}
			<-over
			return 0, nil
		}, true},
	} {
		for nth := 1; nth <= 5; nth++ {
			rule := chaos.Rule{Name: "r", Target: "{outer,inner}", Group: "g", When: when.Nth(nth), Fault: passing(chaos.PhaseChange, nil)}
			plan, err := chaos.NewPlan(1, rule)
			if err != nil {
				t.Fatal(err)
			}
			in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true})
			outer := chaos.Wrap("outer", tc.outer)
			for range 2 {
				_, _ = outer(chaos.NewContext(t.Context(), in), 0)
			}
			matched, other, got := in.Overlap("r")
			want := tc.want && nth != 1 && nth != 4 // these are calls of outer
			if got != want {
				t.Errorf("%s, Nth(%d): overlap is %v, want %v: %v, %v", tc.why, nth, got, want, matched, other)
			}
		}
	}
}
