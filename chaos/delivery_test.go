package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// changing is a fault that may change a result, and may declare it.
func changing(says bool, do func(result any) any) chaos.Fault {
	return faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		result = do(result)
		if says {
			chaos.Changed(ctx, chaos.Change{Path: "$"})
		}
		return result, nil
	}}
}

// own is a result that only its own method can compare.
type own struct{ body *int }

func (o own) SameAs(other any) (same, known bool) {
	same = o.body == other.(own).body
	return same, same
}

// A declared change is checked if the values can be compared, and believed if not.
func TestDeclarationsAreLookedAt(t *testing.T) {
	one, two := 1, 2
	for _, tt := range []struct {
		why       string
		result    any
		says      bool
		do        func(any) any
		delivered bool
		note      string
	}{
		{"declared and true", 1, true, func(any) any { return 2 }, true, ""},
		{"declared and not true", 1, true, func(any) any { return 1 }, false, "made no difference"},
		{"true and not declared", 1, false, func(any) any { return 2 }, true, "without declaring it"},
		{"neither", 1, false, func(v any) any { return v }, false, ""},
		{"a document that only reads differently", json.RawMessage(`{"a":1,"b":2}`), true, func(any) any { return json.RawMessage(`{"b":2,"a":1}`) }, false, "made no difference"},
		{"written to in place: its word is taken", map[string]int{"a": 1}, true, func(v any) any { v.(map[string]int)["a"] = 2; return v }, true, "cannot be compared"},
		{"passed on, and nothing declared", map[string]int{"a": 1}, false, func(v any) any { return v }, false, ""},
		{"not to be compared: its word is taken", own{&one}, true, func(any) any { return own{&two} }, true, "cannot be compared"},
		{"not to be compared, and nothing declared", own{&one}, false, func(any) any { return own{&two} }, false, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			in, ctx := recording(t, chaos.Rule{Name: "r", Target: "work", Limit: 1, Fault: changing(tt.says, tt.do)})
			_, err := chaos.Wrap("work", func(context.Context, int) (any, error) { return tt.result, nil })(ctx, 1)
			assert.NoError(t, err)
			e := only(t, in)
			assert.Equal(t, tt.delivered, e.Delivered)
			assert.Equal(t, tt.delivered, len(in.Undelivered()) == 0)
			assert.Equal(t, tt.delivered && tt.says, len(e.Changes) > 0, "the event shows what was delivered")
			if tt.note == "" {
				assert.Empty(t, e.Note)
			}
			assert.Contains(t, e.Note, tt.note)
		})
	}
}

// A value in the place of an error is always delivered.
func TestAHealedErrorIsDelivered(t *testing.T) {
	heal := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		_, _ = next(ctx, args)
		return 7, nil
	}}
	in, ctx := recording(t, chaos.Rule{Target: "work", Fault: heal})
	out, err := chaos.Wrap("work", func(context.Context, int) (int, error) { return 0, errOwn })(ctx, 1)
	assert.NoError(t, err)
	assert.Equal(t, 7, out)
	assert.True(t, only(t, in).Delivered)
}

// The effect of a postponed call is unknown.
func TestTheEffectOfAPostponedCallIsUnknown(t *testing.T) {
	for name, says := range map[string]bool{"postponed": true, "refused": false} {
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone}, func(context.Context, struct{}) (string, error) { return "ok", nil }))
		assert.NoError(t, err)
		in, ctx := recording(t, chaos.Rule{Target: "pay", Fault: faultFunc{chaos.PhaseInstead,
			func(ctx context.Context, _ chaos.Call, _ any, _ chaos.Next) (any, error) {
				if says {
					chaos.Postponed(ctx)
				}
				return nil, errDown
			}}})
		_, err = chaos.WrapRegistry(tools, nil).CallTool(ctx, "pay", nil)
		assert.ErrorIs(t, err, errDown)
		want := chaos.EffectNone
		if says {
			want = chaos.EffectUnknown
		}
		assert.Equal(t, want, only(t, in).Effect, name)
	}
	var none context.Context
	chaos.Postponed(t.Context()) // outside a fault it does nothing
	chaos.Postponed(none)
}

// touchy is a fault whose methods panic.
type touchy struct {
	chaos.Fault
	method string
}

func (e touchy) boom(method string) {
	if e.method == method {
		panic("boom")
	}
}

func (e touchy) Check() error                { e.boom("Check"); return nil }
func (e touchy) Phase() chaos.Phase          { e.boom("Phase"); return chaos.PhaseInstead }
func (e touchy) Describe() chaos.Description { e.boom("Describe"); return chaos.Description{} }
func (e touchy) Match(chaos.Call) bool       { return false }
func (e touchy) Probability() float64        { e.boom("Probability"); return 0 }

// A method of a fault or trigger that panics is a problem of its rule.
func TestMethodsThatPanicAreProblemsOfTheirRules(t *testing.T) {
	for _, method := range []string{"Check", "Phase", "Describe", "Probability"} {
		part := touchy{down(), method}
		rule, field := chaos.Rule{Name: "r", Target: "work", Fault: part}, "Fault"
		if method == "Probability" {
			rule, field = chaos.Rule{Name: "r", Target: "work", When: part, Fault: down()}, "When"
		}
		_, err := chaos.NewPlan(1, rule)
		live := chaos.NewInjector(1, nil).Register(rule)
		for _, err := range []error{err, live} {
			var wrong *chaos.RuleError
			if assert.ErrorAs(t, err, &wrong, method) {
				assert.Equal(t, "r", wrong.Rule)
				assert.Equal(t, field, wrong.Field)
				assert.ErrorContains(t, err, "its "+method+" method panicked: boom")
			}
		}
	}
}

// Zero values and nil contexts do not panic.
func TestZeroValues(t *testing.T) {
	var zero chaos.InjectedError
	var none context.Context
	assert.Equal(t, "unknown error", zero.Error())
	assert.False(t, zero.Timeout())
	assert.NoError(t, errors.Unwrap(&zero))
	assert.ErrorIs(t, &zero, chaos.ErrInjected)
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaos.Sleep(none, time.Second))
	})
	r, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "a"}, func(context.Context, struct{}) (int, error) { return 1, nil }))
	assert.NoError(t, err)
	tools, err := r.Tools(none)
	assert.NoError(t, err)
	assert.Len(t, tools, 1)
}

// Of a fault that takes items and yields none, not all items are remembered. A fault
// that makes its own items of them is delivered when the consumer gets one.
func TestAStreamThatIsFolded(t *testing.T) {
	const n = 5000
	sum := streamer{func(ctx context.Context, items iter.Seq2[any, error], yield func(any, error) bool) {
		total := 0
		for item := range items {
			total += item.(int)
		}
		yield(total, nil)
	}}
	in, ctx := recording(t, chaos.Rule{Target: "ints", Fault: sum})
	ints := chaos.WrapStream("ints", func(context.Context, int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for range n {
				if !yield(1, nil) {
					return
				}
			}
		}
	})
	var got []int
	for item := range ints(ctx, 0) {
		got = append(got, item)
	}
	assert.Equal(t, []int{n}, got)
	assert.True(t, only(t, in).Delivered)
}

// Arguments that do not fit the callee do not reach it, so a declared change of them
// is not delivered.
func TestArgumentsThatDoNotFitAreNotDelivered(t *testing.T) {
	type order struct{ ID *int }
	var got []order
	pay := chaos.Wrap("pay", func(_ context.Context, o order) (int, error) { got = append(got, o); return 1, nil })
	bend := faultFunc{chaos.PhaseBefore, func(ctx context.Context, _ chaos.Call, _ any, next chaos.Next) (any, error) {
		chaos.Changed(ctx, chaos.Change{Path: "$args", After: json.RawMessage(`{"ID":8}`)})
		return next(ctx, map[string]any{"ID": 8})
	}}
	in, ctx := recording(t, chaos.Rule{Target: "pay", Fault: bend, Limit: 1})
	seven := 7
	_, err := pay(ctx, order{&seven})
	assert.NoError(t, err)
	assert.Equal(t, []order{{&seven}}, got)
	e := only(t, in)
	assert.False(t, e.Delivered, "%+v", e)
	assert.Contains(t, e.Note, "wrong type")
	assert.Empty(t, e.Changes)
	assert.Len(t, in.Undelivered(), 1)
}

// A fault that executes a call several times returns the result of one execution. A
// change further in is judged by that execution, and so uses up its limit.
func TestAChangeOfTheExecutionThatIsHandedOn(t *testing.T) {
	const changed = -1
	hedge := func(use int) chaos.Fault { // returns the result of that execution
		return faultFunc{chaos.PhaseBefore, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			var results []any
			for range 3 {
				result, err := next(ctx, args)
				if err != nil {
					result = nil
				}
				results = append(results, result)
			}
			return results[use], nil
		}}
	}
	change := func(execution int) chaos.Fault { // of that execution alone
		n := -1
		return faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
			result, err := next(ctx, args)
			if n++; err != nil || n != execution {
				return result, err
			}
			chaos.Changed(ctx, chaos.Change{Path: "$"})
			return changed, nil
		}}
	}
	for use := range 3 {
		for at := range 3 {
			for fails := 1; fails <= 3; fails++ { // 3: none
				if fails == use || fails == at {
					continue
				}
				why := fmt.Sprintf("returned: %d, changed: %d, failed: %d", use, at, fails)
				in := plan(t, chaos.Rule{Name: "hedge", Target: "work", Fault: hedge(use)},
					chaos.Rule{Name: "change", Target: "work", Fault: change(at), Limit: 1}).Injector("cell", nil)
				n := -1
				work := chaos.Wrap("work", func(context.Context, int) (int, error) {
					if n++; n == fails {
						return 0, errDown
					}
					return 10 + n, nil
				})
				result, err := work(chaos.NewContext(context.Background(), in), 0)
				require.NoError(t, err, why)
				assert.Equal(t, use == at, result == changed, why)
				if use == at {
					assert.Empty(t, in.Undelivered(), why)
					assert.Equal(t, []chaos.Change{{Path: "$"}}, only(t, in).Changes, why)
				} else {
					assert.Equal(t, []string{"change"}, in.Undelivered(), why)
					assert.Empty(t, only(t, in).Changes, why)
				}
				assert.NotContains(t, only(t, in).Note, "cannot be compared", why)
			}
		}
	}
}
