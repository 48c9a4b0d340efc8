package when_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"pgregory.net/rapid"
)

// sorted puts events in the order of their coordinates, which no scheduler can disturb.
func sorted(events []chaos.Event) []chaos.Event {
	slices.SortFunc(events, func(a, b chaos.Event) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Target, b.Target),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Occurrence, b.Occurrence))
	})
	return events
}

// A rule's draws stay where they are when other rules join it, before or after
// it, on its target or elsewhere, and when other targets are called.
func TestOthersMoveNoDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		watched := chaos.Rule{Name: "watched", Target: "orders", When: anyDrawing(t, "watched"), Fault: anyHarmless(t, "watched")}
		var before, after []chaos.Rule
		for i, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-v]{1,3}`), 0, 4, rapid.ID).Draw(t, "others") {
			r := chaos.Rule{Name: name, Target: rapid.SampledFrom([]string{"orders", "stock", "*"}).Draw(t, "target"),
				When: anyDrawing(t, name), Fault: anyHarmless(t, name)}
			if i%2 == 0 {
				before = append(before, r)
			} else {
				after = append(after, r)
			}
		}
		alone := draws(t, seed, false, watched)
		crowded := draws(t, seed, true, slices.Concat(before, []chaos.Rule{watched}, after)...)
		if !slices.Equal(alone, crowded) {
			t.Fatalf("alone the rule matched %v, among others %v", alone, crowded)
		}
	})
}

func anyDrawing(t *rapid.T, label string) chaos.When {
	p := when.Prob(rapid.Float64Range(0, 1).Draw(t, label+" p"))
	return rapid.SampledFrom([]chaos.When{nil, p, when.Not(p), when.Any(p, when.Every(3)), when.All(when.After(2), p)}).Draw(t, label+" when")
}

func anyHarmless(t *rapid.T, label string) chaos.Fault {
	return rapid.SampledFrom([]chaos.Fault{
		fault.Fail(fault.ErrInternal), fault.Replace(1), fault.Duplicate(), fault.Timeout(0), fault.LoseReplyAfter(0),
	}).Draw(t, label+" fault")
}

// draws makes thirty calls and returns the numbers of those that the watched
// rule matched, delivered or not.
func draws(t *rapid.T, seed uint64, others bool, rules ...chaos.Rule) (drawn []int) {
	p, err := chaos.NewPlan(seed, rules...)
	if err != nil {
		t.Fatal(err)
	}
	in := p.Injector("cell", nil)
	ctx := chaos.NewContext(context.Background(), in)
	zero := func(context.Context, int) (int, error) { return 0, nil }
	orders, stock := chaos.Wrap("orders", zero), chaos.Wrap("stock", zero)
	for n := range 30 {
		if others {
			_, _ = stock(ctx, n)
		}
		_, _ = orders(ctx, n)
	}
	for _, e := range in.Events() {
		names := slices.Concat([]string{e.Rule}, e.Also, e.Idle, e.Masked)
		if e.Target == "orders" && slices.Contains(names, "watched") {
			drawn = append(drawn, int(e.Ordinal))
		}
	}
	return drawn
}

// The injector, which decides a bare probability by itself, and the trigger
// agree on every call, also at the edges.
func TestProbabilityAgreesWithMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0x1p-53, 0.5, 1 - 0x1p-53, 1})).Draw(t, "p")
		w := when.Prob(p)
		if got := w.(chaos.Probabilistic).Probability(); got != p {
			t.Fatalf("Probability is %v, want %v", got, p)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		rule := chaos.Rule{Name: "watched", Target: "orders", When: w, Fault: fault.Fail(fault.ErrInternal)}
		known := draws(t, seed, false, rule)
		rule.When = opaque{w}
		if asked := draws(t, seed, false, rule); !slices.Equal(known, asked) {
			t.Fatalf("at %v the injector draws %v, Match %v", p, known, asked)
		}
	})
}

// opaque hides what a trigger is.
type opaque struct{ w chaos.When }

func (o opaque) Match(c chaos.Call) bool { return o.w.Match(c) }
