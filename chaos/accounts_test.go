package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
)

// antics are what the faults and callees of the property below do.
var antics = []string{"pass", "pass on twice", "fail", "change", "misfit", "drop", "heal", "panic", "disarm", "close"}

// antic is a fault that does one of them.
func antic(in func() *chaos.Injector, what string, phase chaos.Phase) chaos.Fault {
	return faultFunc{phase, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		switch what {
		case "fail":
			return nil, errDown
		case "panic":
			panic("antic")
		case "drop":
			return nil, nil
		case "disarm":
			in().Disarm()
		case "close":
			in().Close()
		case "pass on twice":
			_, _ = next(ctx, args)
		}
		result, err := next(ctx, args)
		switch what {
		case "change":
			chaos.Changed(ctx, chaos.Change{})
		case "misfit":
			return "seven", nil
		case "heal":
			return result, nil
		}
		return result, err
	}}
}

// Whatever the rules of a call do: the event names each rule that matched once, and
// no other. No reservation is left, and no limit is exceeded. An event with Delivered
// names a rule that did something.
func TestEveryDrawnRuleIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in *chaos.Injector
		ask := func() *chaos.Injector { return in }
		var rules []chaos.Rule
		for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
			r := chaos.Rule{Name: fmt.Sprint(i), Target: "work", Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
			phase := rapid.SampledFrom([]chaos.Phase{chaos.PhaseBefore, chaos.PhaseInstead, chaos.PhaseChange, chaos.PhaseAfter}).Draw(t, "phase")
			r.Fault = antic(ask, rapid.SampledFrom(antics).Draw(t, "fault"), phase)
			if rapid.IntRange(0, 4).Draw(t, "failer") == 0 {
				r.Fault = failer{rapid.SampledFrom([]error{nil, errDown}).Draw(t, "error")}
			}
			rules = append(rules, r)
		}
		p, err := chaos.NewPlan(1, rules...)
		assert.NoError(t, err)
		in = p.Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: rapid.Bool().Draw(t, "keep")})
		ctx := chaos.NewContext(context.Background(), in)
		callee := func(what string) (int, error) {
			switch what {
			case "panic":
				panic("callee")
			case "fail":
				return 0, errors.New("own")
			}
			return 1, nil
		}
		call := chaos.Wrap("work", func(_ context.Context, what string) (int, error) { return callee(what) })
		stream := chaos.WrapStream("work", func(_ context.Context, what string) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				_ = yield(1, nil) && yield(callee(what))
			}
		})
		calls := rapid.IntRange(1, 4).Draw(t, "calls")
		for range calls {
			what := rapid.SampledFrom([]string{"ok", "fail", "panic"}).Draw(t, "callee")
			most := rapid.IntRange(1, 3).Draw(t, "most")
			inStream := rapid.Bool().Draw(t, "stream")
			apart(func() {
				if !inStream {
					_, _ = call(ctx, what)
					return
				}
				n := 0
				for range stream(ctx, what) {
					if n++; n == most {
						return
					}
				}
			})
		}
		assert.Zero(t, chaos.Pending(in))
		delivered := map[string]int{}
		for _, e := range in.Events() {
			names := slices.Concat([]string{e.Rule}, e.Also, e.Idle, e.Masked)
			if e.Rule == "" {
				names = names[1:]
			}
			slices.Sort(names)
			assert.Len(t, slices.Compact(slices.Clone(names)), len(names), "each rule once: %v", names)
			for _, r := range rules {
				if r.Limit == 0 && len(names) > 0 {
					assert.Contains(t, names, r.Name, "it has no limit to rest by")
				}
			}
			if e.Delivered {
				assert.NotEmpty(t, e.Rule)
				for _, name := range append(e.Also, e.Rule) {
					delivered[name]++
				}
			} else {
				assert.Empty(t, e.Also)
				assert.Empty(t, e.Changes)
			}
		}
		for i, r := range rules {
			if n := delivered[r.Name]; r.Limit > 0 {
				assert.LessOrEqual(t, n, r.Limit, "rule %d", i)
			}
			assert.Equal(t, delivered[r.Name] == 0, slices.Contains(in.Undelivered(), r.Name), "rule %d", i)
		}
	})
}
