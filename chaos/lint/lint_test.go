package lint_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

var (
	down    = fault.Fail(fault.ErrUnavailable)
	known   = []string{"orders.get", "orders.list", "stock.get"}
	replace = fault.Replace(json.RawMessage(`{"status":"lost"}`))
)

// Each finding, and beside it what looks alike and is well.
func TestFindings(t *testing.T) {
	never := when.Prob(0)
	one := func(r chaos.Rule) []chaos.Rule {
		if r.Target == "" {
			r.Target = "orders.get"
		}
		if r.Fault == nil {
			r.Fault = down
		}
		return []chaos.Rule{r}
	}
	trigger := func(w chaos.When) []chaos.Rule { return one(chaos.Rule{When: w}) }
	text := func(s string) []chaos.Rule { return one(chaos.Rule{Fault: fault.Fail(errors.New(s))}) }
	two := func(a, b chaos.Rule) []chaos.Rule {
		a.Name, b.Name = "a", "b"
		return append(one(a), one(b)...)
	}
	for _, c := range []struct {
		why   string
		rules []chaos.Rule
		want  []lint.Code
	}{
		{"nothing to say", trigger(when.Prob(0.3)), nil},
		{"probability 0", trigger(never), []lint.Code{lint.Never}},
		{"disjoint counts", trigger(when.All(when.First(3), when.After(3))), []lint.Code{lint.Never}},
		{"counts that share one call", trigger(when.All(when.First(4), when.After(3))), nil},
		{"a call that no period meets", trigger(when.All(when.Every(2), when.Nth(3, 7))), []lint.Code{lint.Never}},
		{"periods that never meet", trigger(when.All(when.Every(2), when.Not(when.Every(2)))), []lint.Code{lint.Never}},
		{"periods that meet at the fifteenth call", trigger(when.All(when.Every(5), when.Every(3))), nil},
		{"two calls far apart", trigger(when.All(when.Nth(1), when.Nth(1_000_000))), nil}, // too far to look at each
		{"disjoint windows", trigger(when.All(when.Between(0, time.Second), when.Since(time.Second))), []lint.Code{lint.Never}},
		{"windows that overlap", trigger(when.All(when.Between(0, 2*time.Second), when.Since(time.Second))), nil},
		{"disjoint turns", trigger(when.All(when.Turn(1, 2), when.TurnBetween(3, 9))), []lint.Code{lint.Never}},
		{"turns between turns", trigger(when.All(when.TurnBetween(1, 9), when.Not(when.Turn(1, 9)))), nil},
		{"not everything", trigger(when.Not(when.Any(when.First(3), when.After(2)))), []lint.Code{lint.Never}},
		{"stages of calm", trigger(when.Stages(when.Stage{Calls: 3, When: never}, when.Stage{When: never})), []lint.Code{lint.Never}},
		{"a stage that comes too late", trigger(when.Stages(when.Stage{Calls: 3, When: never}, when.Stage{Calls: 2, When: when.Nth(3)})), []lint.Code{lint.Never}},
		{"stages by the clock that miss their window", trigger(when.Stages(when.Stage{For: time.Second, When: when.Since(time.Second)})), []lint.Code{lint.Never}},
		{"errors in neither state", trigger(when.GilbertElliott(0.1, 0.1, 0, 0)), []lint.Code{lint.Never}},
		{"bursts and thirds that do not meet", trigger(when.All(when.Burst(2, 3), when.Late(9))), []lint.Code{lint.Never}},
		{"a trigger of the user's own", trigger(when.All(own{}, when.First(1))), nil},

		{"a list of another target's calls", trigger(when.Exactly(when.Coord{Target: "stock.get"})), []lint.Code{lint.Never}},
		{"a list with another target's call", trigger(when.Exactly(when.Coord{Target: "orders.get"}, when.Coord{Target: "stock.get"})), []lint.Code{lint.Unreachable}},
		{"a list of another lane", trigger(when.All(when.Lane("a*"), when.Exactly(when.Coord{Target: "orders.get", Lane: "b"}))), []lint.Code{lint.Never}},
		{"a list of that lane", trigger(when.All(when.Lane("a*"), when.Exactly(when.Coord{Target: "orders.get", Lane: "ab"}))), nil},
		{"a list of calls with keys in a group", append(one(chaos.Rule{Name: "x", Group: "g", Target: "*", When: when.Exactly(when.Coord{Target: "stock.get", Key: 7}, when.Coord{Target: "stock.get"})}),
			one(chaos.Rule{Group: "g"})...), []lint.Code{lint.Unreachable}},

		{"no such target", one(chaos.Rule{Target: "pay*"}), []lint.Code{lint.UnknownTarget}},
		{"hidden by an earlier failure", two(chaos.Rule{Target: "*"}, chaos.Rule{When: when.Nth(2)}), []lint.Code{lint.Shadowed}},
		{"not hidden by a later one", two(chaos.Rule{When: when.Nth(2)}, chaos.Rule{Target: "*"}), nil},
		{"hidden by certainty in another form", two(chaos.Rule{Target: "orders.*", When: when.Any(when.First(2), when.After(1))}, chaos.Rule{}), []lint.Code{lint.Shadowed}},
		{"an earlier failure with a limit ends", two(chaos.Rule{Target: "*", Limit: 3}, chaos.Rule{}), nil},
		{"an earlier failure rests", two(chaos.Rule{Target: "*", CoolDown: 1}, chaos.Rule{}), nil},
		{"an earlier failure elsewhere", two(chaos.Rule{Target: "orders.list"}, chaos.Rule{Target: "orders.*"}), nil},
		{"an earlier delay", two(chaos.Rule{Target: "*", Fault: fault.Delay(1)}, chaos.Rule{}), nil},
		{"a change of what always fails", two(chaos.Rule{Fault: replace}, chaos.Rule{Target: "orders.*"}), []lint.Code{lint.Shadowed}},
		{"a reply to what is always refused", two(chaos.Rule{Fault: fault.LoseReply()}, chaos.Rule{Target: "orders.*", Fault: fault.AuthExpired()}), []lint.Code{lint.Shadowed}},
		{"a reply of what is always done twice", two(chaos.Rule{Target: "*", Fault: fault.Duplicate()}, chaos.Rule{Fault: fault.LoseReply()}), nil},
		{"hidden by two together", append(two(chaos.Rule{Target: "orders.{get,x}"}, chaos.Rule{Target: "orders.list"}), one(chaos.Rule{Target: "orders.*"})...), []lint.Code{lint.Shadowed}},

		{"the default text", text("Injected fault"), []lint.Code{lint.TelltaleText}},
		{"a telltale text", text("error injected by the chaos proxy"), []lint.Code{lint.TelltaleText}},
		{"a telltale value", one(chaos.Rule{Fault: fault.Replace(map[string]any{"rows": []string{"a", "Test User"}})}), []lint.Code{lint.TelltaleText}},
		{"words that only contain one", text("default latest: contested protest of the asphalt"), nil},
		{"a name that only reports show", one(chaos.Rule{Fault: fault.Mutate("inject a fault", func(s string) string { return s })}), nil},

		{"errors come first", one(chaos.Rule{When: never, Fault: fault.Fail(errors.New("Injected fault"))}), []lint.Code{lint.Never, lint.TelltaleText}},
	} {
		t.Run(c.why, func(t *testing.T) {
			p, err := chaos.NewPlan(1, c.rules...)
			require.NoError(t, err)
			var codes []lint.Code
			for _, f := range lint.Plan(p, &lint.Options{Targets: known}) {
				codes = append(codes, f.Code)
				assert.NotEmpty(t, f.Message)
				assert.Contains(t, f.String(), string(f.Severity)+`: rule "`+f.Rule+`": `+string(f.Code))
			}
			assert.Equal(t, c.want, codes)
		})
	}
}

// own is a trigger and a fault that say nothing of themselves.
type own struct{}

func (own) Match(chaos.Call) bool { return false }
func (own) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// told is a trigger that claims to be something else, as one read from JSON by
// another reader might.
type told struct {
	own
	d chaos.Description
}

func (w told) Describe() chaos.Description { return w.d }

// Unknown kinds, parameters that do not read, and rules that no plan would take
// are left alone: no finding, no panic.
func TestWhatIsNotUnderstoodIsLeftAlone(t *testing.T) {
	for _, d := range []chaos.Description{
		{}, {Kind: "sunspots", Params: json.RawMessage(`{"p":0}`)}, {Kind: "prob"}, {Kind: "prob", Params: json.RawMessage(`{"p":"0"}`)},
		{Kind: "all"}, {Kind: "not", Params: json.RawMessage(`[]`)}, {Kind: "between", Params: json.RawMessage(`{"from":"soon"}`)},
		{Kind: "all", Params: json.RawMessage(`{"parts":[{"kind":"sunspots","params":{"n":"x"}}]}`)},
	} {
		rules := []chaos.Rule{{Name: "r", Target: "x", When: told{d: d}, Fault: own{}}, {Name: "s", Target: "x", Fault: told{d: d}}}
		assert.Empty(t, lint.Rules(rules[:1], nil), "%+v", d)
		assert.NotPanics(t, func() { lint.Rules(rules, nil) })
	}
	assert.Empty(t, lint.Plan(nil, nil), "no plan, no rules")
	assert.NotPanics(t, func() { lint.Rules([]chaos.Rule{{}, {Target: "["}}, nil) })
	assert.Equal(t, lint.Never, lint.Rules([]chaos.Rule{{Name: "r", Target: "x", When: when.First(0), Fault: down}}, nil)[0].Code, "which no plan takes, but a list may have")
}

func TestMessages(t *testing.T) {
	p, err := chaos.NewPlan(1,
		chaos.Rule{Name: "all", Target: "orders.*", Fault: down},
		chaos.Rule{Name: "late", Target: "orders.get", When: when.All(when.First(1), when.After(1)), Fault: down})
	require.NoError(t, err)
	found := lint.Plan(p, nil)
	require.Len(t, found, 2)
	assert.Equal(t, `error: rule "late": never: the trigger matches no call`, found[0].String())
	assert.Equal(t, `error: rule "late": shadowed: rule "all" decides every call that this one matches`, found[1].String())
	doc, err := json.Marshal(found[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"late","code":"never","severity":"error","message":"the trigger matches no call"}`, string(doc))
}
