package lint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

var (
	down  = fault.Fail(fault.ErrUnavailable)
	known = []string{"orders.get", "orders.list", "stock.get"}
)

// Each finding, and beside it what looks alike and is well.
func TestFindings(t *testing.T) {
	none := when.Prob(0)
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
	for _, c := range []struct {
		why   string
		rules []chaos.Rule
		want  []lint.Code
	}{
		{"nothing to say", trigger(when.Prob(0.3)), nil},
		{"probability 0", trigger(none), []lint.Code{lint.Never}},
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
		{"stages of calm", trigger(when.Stages(when.Stage{Calls: 3, When: none}, when.Stage{When: none})), []lint.Code{lint.Never}},
		{"a stage that comes too late", trigger(when.Stages(when.Stage{Calls: 3, When: none}, when.Stage{Calls: 2, When: when.Nth(3)})), []lint.Code{lint.Never}},
		{"stages by the clock that miss their window", trigger(when.Stages(when.Stage{For: time.Second, When: when.Since(time.Second)})), []lint.Code{lint.Never}},
		{"errors in neither state", trigger(when.GilbertElliott(0.1, 0.1, 0, 0)), []lint.Code{lint.Never}},
		{"bursts and thirds that do not meet", trigger(when.All(when.Burst(2, 3), when.Late(9))), []lint.Code{lint.Never}},
		{"a trigger of the user's own", trigger(when.All(own{}, when.First(1))), nil},

		{"a list of another target's calls", trigger(when.Exactly(when.Coord{Target: "stock.get"})), []lint.Code{lint.Never}},
		{"a list with another target's call", trigger(when.Exactly(when.Coord{Target: "orders.get"}, when.Coord{Target: "stock.get"})), nil},
		{"a list of another lane", trigger(when.All(when.Lane("a*"), when.Exactly(when.Coord{Target: "orders.get", Lane: "b"}))), []lint.Code{lint.Never}},
		{"a list of that lane", trigger(when.All(when.Lane("a*"), when.Exactly(when.Coord{Target: "orders.get", Lane: "ab"}))), nil},
		{"no such target", one(chaos.Rule{Target: "pay*"}), []lint.Code{lint.UnknownTarget}},
		{"the default text", text("Injected fault"), []lint.Code{lint.TelltaleText}},
		{"a telltale text", text("error injected by the chaos proxy"), []lint.Code{lint.TelltaleText}},
		{"a telltale value", one(chaos.Rule{Fault: fault.Replace(map[string]any{"rows": []string{"a", "Test User"}})}), []lint.Code{lint.TelltaleText}},
		{"words that only contain one", text("default latest: contested protest of the asphalt"), nil},
		{"a name that only reports show", one(chaos.Rule{Fault: fault.Mutate("inject a fault", func(s string) string { return s })}), nil},

		{"errors come first", one(chaos.Rule{When: none, Fault: fault.Fail(errors.New("Injected fault"))}), []lint.Code{lint.Never, lint.TelltaleText}},
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
	require.Len(t, found, 1)
	assert.Equal(t, `error: rule "late": never: the trigger matches no call`, found[0].String())
	doc, err := json.Marshal(found[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"late","code":"never","severity":"error","message":"the trigger matches no call"}`, string(doc))
}

// counting draws triggers that look at the number of a call alone.
func counting() *rapid.Generator[chaos.When] {
	n := rapid.IntRange(1, 6)
	leaf := rapid.Custom(func(t *rapid.T) chaos.When {
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		return rapid.SampledFrom([]chaos.When{
			when.Always(), when.Prob(0), when.Nth(a, b), when.First(a), when.After(a), when.Every(a), when.Burst(a, b),
			when.Intermittent(a, b), when.Early(a + 2), when.Mid(a + 2), when.Late(a + 2), when.BurstWithin(a, a),
		}).Draw(t, "leaf")
	})
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{Calls: n.Draw(t, "calls"), When: x}, when.Stage{When: y})
	})
}

// Numbers as large as they can be are judged as what they are, or not at all.
func TestLargestNumbers(t *testing.T) {
	const most = math.MaxInt
	for _, c := range []struct {
		why  string
		when chaos.When
	}{
		{"the last of all calls, again and again", when.Every(most)},
		{"on for good, as far as anybody gets", when.Intermittent(most, most)},
		{"the last third of more calls than two thirds of them can be counted", when.Late(most)},
		{"the second third of as many", when.Mid(most)},
		{"a call that never comes in practice", when.Nth(most)},
		{"a burst that does not end in practice", when.Burst(most, most)},
		{"stages that last as long", when.Stages(when.Stage{Calls: most, When: when.Prob(0)}, when.Stage{Calls: most, When: when.Always()})},
		{"a turn that never comes in practice", when.Turn(most)},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, found := range lint.Rules([]chaos.Rule{{Name: "r", Target: "t", When: c.when, Fault: fault.Partition()}}, nil) {
				assert.NotEqual(t, lint.Never, found.Code, "%v", found)
			}
		})
	}
}

// anything draws triggers of all kinds.
func anything() *rapid.Generator[chaos.When] {
	leaf := rapid.OneOf(counting(), rapid.Custom(func(t *rapid.T) chaos.When {
		a := rapid.IntRange(0, 4).Draw(t, "a")
		s := time.Duration(a) * time.Second
		return rapid.SampledFrom([]chaos.When{
			when.Prob(0.5), when.Prob(1), when.Markov(0.3, 0.3), when.GilbertElliott(0.3, 0.3, float64(a%2), 1), when.Turn(a), when.TurnBetween(a, a+1),
			when.Lane("a", ""), when.Lane("*"), when.Exactly(when.Coord{Target: "t", Lane: "a", Key: uint64(a % 2)}, when.Coord{Target: "u"}),
			when.Since(s), when.Between(s, s+time.Second), when.Flapping(s+1, time.Second), when.BurstWithin(1, a+1),
		}).Draw(t, "leaf")
	}))
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{For: time.Second, When: x}, when.Stage{When: y})
	})
}

func combined(leaf *rapid.Generator[chaos.When], stages func(*rapid.T, chaos.When, chaos.When) chaos.When) *rapid.Generator[chaos.When] {
	of := leaf
	for range 2 {
		inner := of
		of = rapid.OneOf(leaf, rapid.Custom(func(t *rapid.T) chaos.When {
			x, y := inner.Draw(t, "x"), inner.Draw(t, "y")
			return rapid.SampledFrom([]chaos.When{when.All(x, y), when.Any(x, y), when.Not(x), stages(t, x, y)}).Draw(t, "combination")
		}))
	}
	return of
}

// never asks the linter whether a trigger matches nothing.
func never(w chaos.When) bool {
	found := lint.Rules([]chaos.Rule{{Name: "r", Target: "t", When: w, Fault: fault.Partition()}}, nil)
	return slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Code == lint.Never })
}

// Of triggers that count, the verdict is exact: the linter says that one never
// matches where trying all calls shows it.
func TestVerdictOnCountsIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := counting().Draw(t, "trigger")
		some := false
		for n := range uint64(500) {
			some = some || w.Match(chaos.Call{Target: "t", Ordinal: n})
		}
		if said := never(w); said == some {
			t.Fatalf("%s: said never %v; matched some %v", describe(w), said, some)
		}
	})
}

// Of any trigger, what the linter says is true.
func TestVerdictIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anything().Draw(t, "trigger")
		if !never(w) {
			return
		}
		for range 200 {
			c := chaos.Call{Cell: rapid.StringN(0, 1, 4).Draw(t, "cell"), Target: "t", Lane: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "lane"),
				Key: rapid.Uint64Range(0, 1).Draw(t, "key"), Occurrence: rapid.Uint64Range(0, 1).Draw(t, "occurrence"),
				Ordinal: rapid.Uint64Range(0, 20).Draw(t, "ordinal"), Turn: rapid.IntRange(-1, 6).Draw(t, "turn")}
			if w.Match(c) {
				t.Fatalf("%s: said never; it matches %+v", describe(w), c)
			}
		}
	})
}

// windows draws triggers that look at the clock alone, at half seconds.
func windows() *rapid.Generator[chaos.When] {
	half := func(n int) time.Duration { return time.Duration(n) * time.Second / 2 }
	leaf := rapid.Custom(func(t *rapid.T) chaos.When {
		a, b := rapid.IntRange(0, 6).Draw(t, "a"), rapid.IntRange(1, 6).Draw(t, "b")
		return rapid.SampledFrom([]chaos.When{when.Always(), when.Prob(0), when.Since(half(a)), when.Between(half(a), half(a+b))}).Draw(t, "leaf")
	})
	return combined(leaf, func(t *rapid.T, x, y chaos.When) chaos.When {
		return when.Stages(when.Stage{For: half(rapid.IntRange(1, 6).Draw(t, "for")), When: x}, when.Stage{When: y})
	})
}

// Of triggers by the clock the verdict is exact too.
func TestVerdictOnWindowsIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := windows().Draw(rt, "trigger")
		some := false
		synctest.Test(t, func(t *testing.T) {
			p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: w, Fault: fault.Partition()})
			if err != nil {
				rt.Fatal(err)
			}
			ctx := chaos.NewContext(t.Context(), p.Injector("", nil))
			for range 30 {
				some = chaos.Point(ctx, "t") != nil || some
				time.Sleep(time.Second / 2)
			}
		})
		if said := never(w); said == some {
			rt.Fatalf("%s: said never %v; matched some %v", describe(w), said, some)
		}
	})
}

func describe(w chaos.When) string {
	d := w.(chaos.Described).Describe()
	return fmt.Sprintf("%s %s", d.Kind, d.Params)
}
