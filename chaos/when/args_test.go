package when_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type refund struct {
	Order  int `json:"order"`
	Amount int `json:"amount"`
}

func TestArgs(t *testing.T) {
	large := when.Args("large refund", func(r refund) bool { return r.Amount > 100 })
	doc := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		why  string
		when chaos.When
		args any
		want bool
	}{
		{"the Go type itself", large, refund{1, 200}, true},
		{"the Go type, predicate false", large, refund{1, 20}, false},
		{"a tool's JSON", large, doc(`{"order":1,"amount":200}`), true},
		{"a tool's JSON, predicate false", large, doc(`{"order":1,"amount":20}`), false},
		{"JSON in a byte slice", large, []byte(`{"amount":200}`), true},
		{"JSON in a string", large, `{"amount":200}`, true},
		{"JSON that does not decode", large, doc(`{"amount":"200"}`), false},
		{"no JSON at all", large, "two hundred", false},
		{"another type", large, 200, false},
		{"a pointer is another type", large, &refund{1, 200}, false},
		{"no arguments", large, nil, false},
		{"empty arguments are the zero value", when.Args("empty", func(r refund) bool { return r == refund{} }), doc(``), true},
		{"null is the zero value", when.Args("empty", func(r refund) bool { return r == refund{} }), doc(`null`), true},
		{"the document itself", when.Args("raw", func(d json.RawMessage) bool { return d[0] == '{' }), doc(`{}`), true},
		{"any of a tool is decoded", when.Args("any", func(v any) bool { return v.(map[string]any)["a"] == 1.0 }), doc(`{"a":1}`), true},
		{"any of a function is the value", when.Args("any", func(v any) bool { return v == 7 }), 7, true},
		{"a string is itself before it is JSON", when.Args("text", func(s string) bool { return s == `"a"` }), `"a"`, true},
		{"not", when.Not(large), refund{1, 20}, true},
		{"all", when.All(when.Always(), large), refund{1, 200}, true},
		{"all, one no", when.All(when.Nth(9), large), refund{1, 200}, false},
		{"any", when.Any(when.Nth(9), large), refund{1, 200}, true},
		{"nested", when.All(when.Any(when.Not(large))), refund{1, 20}, true},
	} {
		t.Run(c.why, func(t *testing.T) {
			assert.Equal(t, c.want, c.when.(chaos.ArgsWhen).MatchArgs(chaos.Call{}, c.args))
		})
	}
}

// Only what looks at arguments asks for them, since that costs an allocation.
func TestWhatAsksForArguments(t *testing.T) {
	for kind, w := range triggers() {
		_, asks := w.(chaos.ArgsWhen)
		assert.Equal(t, kind == "args", asks, kind)
	}
	seven := triggers()["args"]
	for _, w := range []chaos.When{when.All(when.Always(), seven), when.Any(seven), when.Not(when.Not(seven))} {
		assert.Implements(t, (*chaos.ArgsWhen)(nil), w)
		assert.False(t, seven.Match(chaos.Call{}), "without arguments there is nothing to match")
	}
}

// The predicate decides the fate of each call by what it asks for, through a
// registry and through a wrapped function alike.
func TestArgsThroughPoints(t *testing.T) {
	p, err := chaos.NewPlan(1, chaos.Rule{
		Target: "refund", Fault: fault.Fail(fault.ErrUnavailable),
		When: when.Args("large refund", func(r refund) bool { return r.Amount > 100 }),
	})
	require.NoError(t, err)
	ctx := chaos.NewContext(t.Context(), p.Injector("", nil))
	pay := func(_ context.Context, r refund) (int, error) { return r.Amount, nil }
	r, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund"}, pay))
	require.NoError(t, err)
	tools, function := chaos.WrapRegistry(r, nil), chaos.Wrap("refund", pay)
	for amount, matched := range map[int]bool{20: false, 100: false, 101: true} {
		_, err := function(ctx, refund{1, amount})
		assert.Equal(t, matched, err != nil, "function, %d", amount)
		args, _ := json.Marshal(refund{1, amount})
		_, err = tools.CallTool(ctx, "refund", args)
		assert.Equal(t, matched, err != nil, "tool, %d", amount)
	}
}

// A panic of the predicate is the user's own, and is not swallowed.
func TestArgsPanic(t *testing.T) {
	w := when.Args("broken", func(int) bool { panic("boom") }).(chaos.ArgsWhen)
	assert.PanicsWithValue(t, "boom", func() { w.MatchArgs(chaos.Call{}, 1) })
}
