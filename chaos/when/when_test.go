package when_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// numbers are the calls, counted from 1, that a trigger matches among the
// first ten of a lane.
func numbers(w chaos.When) (matched []int) {
	for i := range 10 {
		if w.Match(chaos.Call{Target: "t", Ordinal: uint64(i), Occurrence: uint64(i)}) {
			matched = append(matched, i+1)
		}
	}
	return matched
}

func TestCounting(t *testing.T) {
	for _, c := range []struct {
		why  string
		when chaos.When
		want []int
	}{
		{"all there are", when.Always(), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"call 4, counted from 1", when.Nth(4), []int{4}},
		{"several, in any order", when.Nth(9, 1, 3), []int{1, 3, 9}},
		{"the first three", when.First(3), []int{1, 2, 3}},
		{"a quota of seven", when.After(7), []int{8, 9, 10}},
		{"a quota of none", when.After(0), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"every third, the third first", when.Every(3), []int{3, 6, 9}},
		{"every one", when.Every(1), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"never is a probability too", when.Prob(0), nil},
		{"so is always", when.Prob(1), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"a burst", when.Burst(5, 2), []int{5, 6}},
		{"a burst, spelled out", when.All(when.After(4), when.First(6)), []int{5, 6}},
		{"a burst of one from the start", when.Burst(1, 1), []int{1}},
		{"two on, three off", when.Intermittent(2, 3), []int{1, 2, 6, 7}},
		{"in turns", when.Intermittent(1, 1), []int{1, 3, 5, 7, 9}},
		{"the first third of nine", when.Early(9), []int{1, 2, 3}},
		{"the second third of ten", when.Mid(10), []int{4, 5, 6}},
		{"the last third of nine and all beyond", when.Late(9), []int{7, 8, 9, 10}},
		{"one or the other", when.Any(when.Nth(2), when.Every(4)), []int{2, 4, 8}},
		{"all but", when.Not(when.First(8)), []int{9, 10}},
		{"nothing and everything", when.Not(when.Always()), nil},
		{"nested", when.All(when.Not(when.Any(when.Nth(1), when.Nth(2))), when.Not(when.After(4))), []int{3, 4}},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, numbers(c.when)) })
	}
}

// The coordinates of a call, taken one at a time, decide.
func TestPlaces(t *testing.T) {
	at := chaos.Call{Lane: "worker-3", Target: "refund", Key: 7, Occurrence: 1, Ordinal: 5, Turn: 2}
	coord := when.Coord{Lane: "worker-3", Target: "refund", Key: 7, Occurrence: 1}
	with := func(change func(*when.Coord)) chaos.When {
		c := coord
		change(&c)
		return when.Exactly(c)
	}
	for _, c := range []struct {
		why  string
		when chaos.When
		want bool
	}{
		{"this call", when.Exactly(coord), true},
		{"one of several", when.Exactly(when.Coord{Target: "ship"}, coord), true},
		{"another target", with(func(c *when.Coord) { c.Target = "ship" }), false},
		{"another lane", with(func(c *when.Coord) { c.Lane = "" }), false},
		{"other arguments", with(func(c *when.Coord) { c.Key++ }), false},
		{"the call before with the same arguments", with(func(c *when.Coord) { c.Occurrence-- }), false},
		{"the lane by name", when.Lane("worker-3"), true},
		{"the lane by glob", when.Lane("main", "worker-*"), true},
		{"another lane's name", when.Lane("worker-4"), false},
		{"the default lane", when.Lane(""), false},
		{"the turn", when.Turn(1, 2), true},
		{"another turn", when.Turn(0), false},
		{"turns up to this one", when.TurnBetween(0, 2), true},
		{"turns from this one", when.TurnBetween(2, 9), true},
		{"later turns", when.TurnBetween(3, 9), false},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, c.when.Match(at)) })
	}
	assert.True(t, when.Lane("").Match(chaos.Call{}), "the default lane")
	assert.False(t, when.Lane("worker-*").Match(chaos.Call{}), "the default lane has no name")
	assert.True(t, when.Lane("*").Match(chaos.Call{}), "the empty name is a name")
}

// The share of matched calls is the probability, also of parts in a combination.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		why  string
		when chaos.When
		want float64
	}{
		{"one in ten", when.Prob(0.1), 0.1},
		{"seven in ten", when.Prob(0.7), 0.7},
		{"both of two", when.All(when.Prob(0.5), when.Prob(0.5)), 0.25},
		{"either of two", when.Any(when.Prob(0.5), when.Prob(0.5)), 0.75},
		{"not", when.Not(when.Prob(0.3)), 0.7},
		{"all of two combinations", when.All(when.Any(when.Prob(0.5), when.Prob(0.5)), when.Not(when.Prob(0.5))), 0.375},
		{"the same part twice is two draws", func() chaos.When { p := when.Prob(0.5); return when.All(p, p) }(), 0.25},
		{"the same combination twice too", func() chaos.When { p := when.All(when.Prob(0.5)); return when.All(p, p) }(), 0.25},
	} {
		t.Run(c.why, func(t *testing.T) {
			const n = 20_000
			matched := 0.0
			for i := range n {
				if c.when.Match(chaos.Call{Target: "t", Occurrence: uint64(i)}) {
					matched++
				}
			}
			assert.InDelta(t, c.want, matched/n, 4*0.5/math.Sqrt(n))
		})
	}
}

// Boole's laws hold call by call, whatever the call.
func TestCombinatorLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCall(t)
		a, b := anyCounting(t, "a"), anyCounting(t, "b")
		law := func(name string, x, y chaos.When) {
			if x.Match(c) != y.Match(c) {
				t.Fatalf("%s does not hold for %+v", name, c)
			}
		}
		law("not not a = a", when.Not(when.Not(a)), a)
		law("De Morgan for all", when.Not(when.All(a, b)), when.Any(when.Not(a), when.Not(b)))
		law("De Morgan for any", when.Not(when.Any(a, b)), when.All(when.Not(a), when.Not(b)))
		law("all of one", when.All(a), a)
		law("any of one", when.Any(b), b)
		law("first and after", when.First(3), when.Not(when.After(3)))
	})
}

func anyCall(t *rapid.T) chaos.Call {
	return chaos.Call{
		Lane: rapid.SampledFrom([]string{"", "a", "worker-1"}).Draw(t, "lane"), Target: "t",
		Key: rapid.Uint64Range(0, 3).Draw(t, "key"), Occurrence: rapid.Uint64Range(0, 3).Draw(t, "occurrence"),
		Ordinal: rapid.Uint64Range(0, 12).Draw(t, "ordinal"), Turn: rapid.IntRange(0, 3).Draw(t, "turn"),
	}
}

func anyCounting(t *rapid.T, label string) chaos.When {
	n := rapid.IntRange(1, 12).Draw(t, label)
	return rapid.SampledFrom([]chaos.When{
		when.Always(), when.Nth(n), when.First(n), when.After(n), when.Every(n), when.Turn(n),
		when.Lane("a"), when.Exactly(when.Coord{Target: "t", Key: 1}),
	}).Draw(t, label+" kind")
}

// triggers has one of every kind.
func triggers() map[string]chaos.When {
	return map[string]chaos.When{
		"always": when.Always(), "prob": when.Prob(0.5), "nth": when.Nth(4, 7), "first": when.First(3),
		"after": when.After(3), "every": when.Every(2), "between": when.Between(0, time.Second), "since": when.Since(0),
		"exactly": when.Exactly(when.Coord{Lane: "a", Target: "t", Key: 1<<63 + 1, Occurrence: 2}),
		"lane":    when.Lane("", "worker-*"), "turn": when.Turn(1, 2), "turn_between": when.TurnBetween(1, 2),
		"args": when.Args("is seven", func(n int) bool { return n == 7 }),
		"all":  when.All(when.Prob(0.5), when.Not(when.Nth(2)), when.Between(0, time.Second)),
		"any":  when.Any(when.First(1), when.Lane("a")), "not": when.Not(when.Every(2)),
		"burst": when.Burst(3, 2), "intermittent": when.Intermittent(2, 3),
		"flapping": when.Flapping(time.Second, time.Minute), "markov": when.Markov(0.25, 0.5),
		"gilbert_elliott": when.GilbertElliott(0.25, 0.5, 0.01, 0.9),
		"stages":          when.Stages(when.Stage{Calls: 5, When: when.Prob(0.5)}, when.Stage{When: when.First(2)}),
		"early":           when.Early(9), "mid": when.Mid(9), "late": when.Late(9),
	}
}

// No trigger allocates, matching or not.
func TestMatchDoesNotAllocate(t *testing.T) {
	for kind, w := range triggers() {
		c := chaos.Call{Lane: "worker-1", Target: "t", Key: 3, Ordinal: 3}
		var args any = 7
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			w.Match(c)
			if a, ok := w.(chaos.ArgsWhen); ok {
				a.MatchArgs(c, args)
			}
		}), kind)
	}
}

// A trigger says what it is, in JSON that a plan can be written in. catalogtest.Run has
// the examples of all rows.
func TestDescriptions(t *testing.T) {
	for kind, w := range triggers() {
		assert.Equal(t, kind, w.(chaos.Described).Describe().Kind)
	}
	exact := triggers()["exactly"].(chaos.Described).Describe()
	assert.JSONEq(t, `{"calls":[{"lane":"a","target":"t","key":"9223372036854775809","occurrence":"2"}]}`, string(exact.Params))
	timed := when.Stages(when.Stage{For: time.Minute, When: when.Always()}).(chaos.Described).Describe()
	assert.JSONEq(t, `{"stages":[{"for":"1m0s","when":{"kind":"always"}}]}`, string(timed.Params))
	stranger := when.All(stranger{}).(chaos.Described).Describe()
	assert.JSONEq(t, `{"parts":[{"kind":"when_test.stranger"}]}`, string(stranger.Params), "a part of the user's own")
}

type stranger struct{}

func (stranger) Match(chaos.Call) bool { return true }

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

// Parameters that make no sense are refused before any call, each by name.
func TestBadParameters(t *testing.T) {
	for _, c := range []struct {
		why    string
		when   chaos.When
		fields []string
	}{
		{"below never", when.Prob(-0.1), []string{"p"}},
		{"above always", when.Prob(1.1), []string{"p"}},
		{"not a number", when.Prob(math.NaN()), []string{"p"}},
		{"infinitely often", when.Prob(math.Inf(1)), []string{"p"}},
		{"no call", when.Nth(), []string{"n"}},
		{"calls count from 1", when.Nth(0), []string{"n[0]"}},
		{"each of them", when.Nth(1, 0, -3), []string{"n[1]", "n[2]"}},
		{"the first none", when.First(0), []string{"n"}},
		{"after less than none", when.After(-1), []string{"n"}},
		{"every none", when.Every(0), []string{"n"}},
		{"before the start", when.Between(-1, time.Second), []string{"from"}},
		{"an empty window", when.Between(time.Second, time.Second), []string{"to"}},
		{"over before it begins", when.Between(time.Second, 0), []string{"to"}},
		{"since before the start", when.Since(-1), []string{"from"}},
		{"a list of no calls", when.Exactly(), []string{"calls"}},
		{"a call without a target", when.Exactly(when.Coord{Target: "a"}, when.Coord{}), []string{"calls[1].target"}},
		{"no lane", when.Lane(), []string{"lanes"}},
		{"a malformed glob", when.Lane("main", "worker-["), []string{"lanes"}},
		{"no turn", when.Turn(), []string{"n"}},
		{"turns the wrong way round", when.TurnBetween(3, 2), []string{"last"}},
		{"no predicate and no name", when.Args[int]("", nil), []string{"name", "pred"}},
		{"all of nothing", when.All(), []string{"parts"}},
		{"any of nothing", when.Any(), []string{"parts"}},
		{"a nil part", when.All(when.Always(), nil), []string{"parts[1]"}},
		{"not nil", when.Not(nil), []string{"parts[0]"}},
		{"a burst of nothing before the first call", when.Burst(0, 0), []string{"from", "n"}},
		{"never on and never off", when.Intermittent(0, 0), []string{"on", "off"}},
		{"flapping without time", when.Flapping(0, -1), []string{"on", "off"}},
		{"flapping for longer than a Duration", when.Flapping(math.MaxInt64, 1), []string{"off"}},
		{"a chain that never goes down", when.Markov(0, 0.5), []string{"enter"}},
		{"a chain that never recovers", when.Markov(0.5, 0), []string{"leave"}},
		{"a chain that only turns", when.Markov(1, 1), []string{"leave"}},
		{"a chain of no numbers", when.GilbertElliott(math.NaN(), math.NaN(), math.NaN(), 2), []string{"enter", "leave", "good", "bad"}},
		{"two calls have no thirds", when.Late(2), []string{"calls"}},
		{"no stage", when.Stages(), []string{"stages"}},
		{"a stage without a trigger", when.Stages(when.Stage{Calls: 1}), []string{"stages[0].when"}},
		{"a stage in the middle that lasts for good", when.Stages(when.Stage{When: when.Always()}, when.Stage{When: when.Always()}), []string{"stages[0].calls"}},
		{"stages by the clock and by calls", when.Stages(when.Stage{For: 1, When: when.Always()}, when.Stage{Calls: 1, When: when.Always()}), []string{"stages[1].calls"}},
		{"a timed stage for good in the middle", when.Stages(when.Stage{When: when.Always()}, when.Stage{For: 1, When: when.Always()}), []string{"stages[0].for"}},
		{"stages that last less than nothing", when.Stages(when.Stage{For: -1, Calls: -1, When: when.Prob(2)}), []string{"stages[0].for", "stages[0].calls", "p"}},
		{"parts with problems of their own", when.Any(when.Prob(2), when.All(when.Nth(0), nil)), []string{"p", "n[0]", "parts[1]"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "t", When: c.when, Fault: fault.Fail(fault.ErrInternal)})
			assert.Equal(t, c.fields, fields(err))
			var rule *chaos.RuleError
			assert.ErrorAs(t, err, &rule)
			var param *chaos.ParamError
			assert.ErrorAs(t, err, &param)
			assert.Equal(t, "When", rule.Field)
			assert.ErrorContains(t, err, `chaos: rule "r": When: `)
			assert.ErrorContains(t, err, "; allowed: ")
		})
	}
}

// fields are the parameters that an error complains of, in order.
func fields(err error) (names []string) {
	for _, m := range regexp.MustCompile(`: (\S+) is .+?; allowed: `).FindAllStringSubmatch(fmt.Sprint(err), -1) {
		names = append(names, m[1])
	}
	return names
}

// The problem of a part says where the part is.
func TestPositionOfAPart(t *testing.T) {
	err := when.Any(when.Always(), when.All(when.First(1), when.Prob(2))).(chaos.Checked).Check()
	assert.EqualError(t, err, "chaos: any: parts[1]: all: parts[1]: prob: p is 2; allowed: a probability from 0 to 1")
}

// What is refused by a plan does no harm where nobody asked a plan.
func TestBadTriggersDoNotPanic(t *testing.T) {
	for _, w := range []chaos.When{
		when.Prob(math.NaN()), when.Nth(0, -1), when.First(-1), when.After(-1), when.Every(0), when.Exactly(),
		when.Lane("["), when.All(), when.Any(nil), when.All(nil),
		when.Burst(0, -1), when.Burst(-1, 5), when.Intermittent(-1, 1),
		when.Flapping(math.MaxInt64, math.MaxInt64), when.Flapping(0, 0), when.Markov(math.NaN(), math.NaN()), when.Markov(0, 0),
		when.Early(0), when.Late(-3), when.Stages(), when.Stages(when.Stage{Calls: -1, For: -1}), when.Stages(when.Stage{}),
	} {
		for i := range uint64(4) {
			assert.False(t, w.Match(chaos.Call{Ordinal: i}), "%T", w)
		}
	}
	assert.False(t, when.Args[int]("", nil).(chaos.ArgsWhen).MatchArgs(chaos.Call{}, 1))
}

// picky is a trigger whose problem has two causes and a text of its own.
type picky struct{}

func (picky) Match(chaos.Call) bool { return false }
func (picky) Check() error {
	return fmt.Errorf("the level: %w, or else %w", fault.ErrInternal, fault.ErrRateLimited)
}

// A part's problem that was not joined of others keeps its text.
func TestAPartsOwnTextIsKept(t *testing.T) {
	_, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: when.All(when.Always(), picky{}), Fault: fault.Partition()})
	assert.ErrorContains(t, err, "all: parts[1]: the level: internal server error, or else too many requests")
	assert.ErrorIs(t, err, fault.ErrRateLimited)
}

// TestLintKnowsWhichTriggersCount: those that docs/reference/determinism.md says need a
// sequential lane.
func TestLintKnowsWhichTriggersCount(t *testing.T) {
	rows := 0
	check := func(row string, claim catalog.Order, w chaos.When) {
		rows++
		assert.Equal(t, claim == sequential, lint.Counts(w), row)
	}
	for _, c := range claims() {
		if strings.HasPrefix(c.row, "when.") {
			check(c.row, c.claim, c.rule.When)
		}
	}
	for _, r := range fromRows() {
		if r.IsTrigger() {
			check(r.Kind, r.Order, trials(t, r)[0].rule.When)
		}
	}
	assert.Greater(t, rows, 20)
	assert.True(t, lint.Counts(when.Not(when.Any(when.Always(), when.Nth(2)))), "a part of a part")
	assert.True(t, lint.Counts(second{}), "it looks at the ordinal")
	assert.False(t, lint.Counts(nil), "no trigger")
}

type second struct{}

func (second) Match(c chaos.Call) bool          { return c.Ordinal == 1 }
func (second) MatchOrdinal(ordinal uint64) bool { return ordinal == 1 }

// A trigger that goes by the clock can be asked without an injector.
func TestElapsedOfACallMadeByHand(t *testing.T) {
	w := when.Between(time.Second, 2*time.Second)
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, false}, {time.Second, true}, {2 * time.Second, false}} {
		assert.Equal(t, c.want, w.Match(chaos.Call{Target: "t"}.AtElapsed(c.at)), c.at)
	}
	assert.False(t, w.Match(chaos.Call{}.AtElapsed(time.Second).AtElapsed(0)), "the last one counts")
}

func TestRows(t *testing.T) { catalogtest.Run(t, when.Rows()) }
