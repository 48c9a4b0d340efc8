package chaos

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// crossed makes one call by the steps of a Crossing.
func crossed(ctx context.Context, in *Injector, key uint64, costlyKey bool, fn func(context.Context, int) (int, error)) (int, error) {
	c := in.Arrive(ctx, "work", "", LayerPoint, costlyKey)
	if c.Waiting() {
		var args any
		if c.WantsArgs() {
			args = int(key)
		}
		c.Match(key, args)
	}
	switch {
	case c.Err() != nil:
		return 0, c.Err()
	case c.PassesThrough():
		out, err := fn(ctx, int(key))
		c.Passed(key, err)
		return out, err
	}
	on := c // so that the one of a call that passes stays on the stack
	return WrapWith("work", fn, &WrapOptions[int]{Crossing: &on})(ctx, int(key))
}

// A call by the steps of a Crossing gets the same results as a wrapped one, and
// leaves the same events. If all rules are OrdinalWhens and calls are not recorded,
// the key is not counted: then occurrences may differ, and nothing else.
func TestACrossingIsAWrappedCall(t *testing.T) {
	triggers := map[string]When{
		"always": nil, "third": ordinalWhen{2}, "chance": probWhen{0.4}, "own": customWhen{0.4},
		"arguments": asksArgs{},
	}
	rapid.Check(t, func(rt *rapid.T) {
		t, tb := rt, testing.TB(t)
		var rules []Rule
		counting := true
		for i, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"always", "third", "chance", "own", "arguments"}), 1, 3).Draw(t, "triggers") {
			r := Rule{Name: fmt.Sprint(i), Target: "work", When: triggers[name], Limit: rapid.IntRange(0, 2).Draw(t, "limit"), Fault: failFault{errDown}}
			if rapid.Bool().Draw(t, "changes") {
				r.Fault = changeFault{}
			}
			if rapid.IntRange(0, 3).Draw(t, "grouped") == 0 {
				r.Group, r.Limit = "g", 2
			}
			counting = counting && name == "third" && r.Group == ""
			rules = append(rules, r)
		}
		o := &InjectorOptions{RecordAll: rapid.Bool().Draw(t, "recorded"), KeepValues: rapid.Bool().Draw(t, "values")}
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 3), 1, 12).Draw(t, "keys")
		fails := rapid.SliceOfN(rapid.Bool(), len(keys), len(keys)).Draw(t, "failures")
		costlyKey := rapid.Bool().Draw(t, "costlyKey")
		disarmed := rapid.IntRange(0, len(keys)).Draw(t, "disarmed")
		run := func(call func(in *Injector, i int, fn func(context.Context, int) (int, error)) (int, error)) (outcomes []string, events []Event) {
			in := mustPlan(tb, rules...).Injector("cell", o)
			for i := range keys {
				if i == disarmed {
					in.Disarm()
				} else if i == disarmed+2 {
					in.Arm()
				}
				out, err := call(in, i, func(_ context.Context, n int) (int, error) {
					if fails[i] {
						return 0, errors.New("real")
					}
					return n, nil
				})
				outcomes = append(outcomes, fmt.Sprint(out, err))
			}
			events = in.Events()
			for i := range events {
				events[i].Start, events[i].End = 0, 0
				if costlyKey && counting && !o.RecordAll {
					events[i].Occurrence = 0
				}
			}
			return outcomes, append(events, Event{Note: fmt.Sprint(in.Undelivered())})
		}
		outcomes, events := run(func(in *Injector, i int, fn func(context.Context, int) (int, error)) (int, error) {
			return WrapWith("work", fn, &WrapOptions[int]{Injector: in, Key: func(n int) uint64 { return uint64(n) }})(context.Background(), int(keys[i]))
		})
		inSteps, eventsInSteps := run(func(in *Injector, i int, fn func(context.Context, int) (int, error)) (int, error) {
			return crossed(context.Background(), in, keys[i], costlyKey, fn)
		})
		require.Equal(t, outcomes, inSteps)
		require.Equal(t, events, eventsInSteps)
	})
}

func TestACrossingOfAClosedInjector(t *testing.T) {
	in := mustPlan(t, Rule{Target: "work", Fault: failFault{errDown}}).Injector("cell", nil)
	in.Close()
	_, err := crossed(t.Context(), in, 1, true, bare)
	assert.ErrorIs(t, err, ErrCellEnded)
	assert.EqualValues(t, 1, in.LateCalls())
	c := in.Arrive(t.Context(), "work", "", LayerPoint, true)
	c.Match(1, nil)
	_, err = WrapWith("work", bare, &WrapOptions[int]{Crossing: &c})(t.Context(), 1)
	assert.ErrorIs(t, err, ErrCellEnded, "what was refused stays so")
}

// A withheld change appears on no event, unless the fault that withholds it declares
// it.
func TestWithhold(t *testing.T) {
	for _, tells := range []bool{false, true} {
		in := mustPlan(t, Rule{Target: "work", Fault: withholding{tells}}).Injector("cell", nil)
		_, err := WrapWith("work", bare, &WrapOptions[int]{Injector: in})(t.Context(), 1)
		require.NoError(t, err)
		e := in.Events()[0]
		assert.Equal(t, tells, e.Delivered)
		assert.Equal(t, tells, len(e.Changes) == 1)
		assert.Equal(t, "a word", e.Note)
	}
	ctx, changes := Withhold(t.Context())
	Changed(ctx, Change{Path: "$"})
	assert.Empty(t, changes(), "outside a fault there is nothing")
}

// withholding runs another fault, and may declare its changes.
type withholding struct{ tells bool }

func (withholding) Phase() Phase { return PhaseChange }

func (f withholding) Inject(ctx context.Context, _ Call, args any, next Next) (any, error) {
	result, err := next(ctx, args)
	held, changes := Withhold(ctx)
	Changed(held, Change{Path: "$"})
	Note(held, "a word")
	if f.tells {
		Changed(ctx, changes()...)
		return result.(int) + 1, err
	}
	return result, err
}

// asksArgs is a trigger that looks at the arguments.
type asksArgs struct{}

func (asksArgs) Match(Call) bool                 { return false }
func (asksArgs) MatchArgs(_ Call, args any) bool { return args == 2 }
