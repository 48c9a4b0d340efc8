package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaostest"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

func TestRows(t *testing.T) { catalogtest.Run(t, fault.Rows()) }

func decoded(t *testing.T, kind, params string) chaos.Fault {
	plan, err := planjson.Decode([]byte(`{"seed":"1","rules":[{"target":"x","fault":{"kind":"`+kind+`","params":`+params+`}}]}`), nil)
	require.NoError(t, err)
	return plan.Rules()[0].Fault
}

// A label differs from its base in what its row says, and in nothing else: the
// example with another name does the same to a call.
func TestLabelsAreTheirBase(t *testing.T) {
	rows := map[string]*catalog.Row{}
	for _, r := range fault.Rows() {
		rows[r.Kind] = r
	}
	labels := 0
	for _, r := range fault.Rows() {
		if r.Base == "" {
			continue
		}
		labels++
		t.Run(r.Kind, func(t *testing.T) {
			params := r.Example
			if strings.Contains(params, "value") {
				params = `{"value":"approved"}` // of the type of the desk's results
			}
			plain := decoded(t, r.Base, params)
			again := fault.As(r.Kind, plain)
			assert.Equal(t, decoded(t, r.Kind, params), again, "in JSON and in Go")
			everywhere(t, func(t *testing.T, _ string, d *desk, call ask) {
				one, calls := outcome(t, plain, d, call)
				two, other := outcome(t, again, d, call)
				assert.Equal(t, one, two)
				assert.Equal(t, calls, other)
			})
			assert.Equal(t, r.Base, plain.(chaos.Described).Describe().Kind, "As changes nothing")
		})
	}
	assert.GreaterOrEqual(t, labels, 7)
}

// outcome is what a caller gets, and how often the callee was reached.
func outcome(t *testing.T, f chaos.Fault, d *desk, call ask) (got [2]string, calls int) {
	ctx, _ := withRules(t, chaos.Rule{Name: "r", Fault: f})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := d.calls
	status, err := call(ctx)
	got[0] = status
	if err != nil {
		got[1] = err.Error()
	}
	return got, d.calls - before
}

// A kind that does not fit is refused when a plan is made, and the error says
// which would.
func TestLabelsThatDoNotFit(t *testing.T) {
	for why, f := range map[string]chaos.Fault{
		"a misspelled kind":        fault.As("guardrail_hung", fault.Hang()),
		"no kind":                  fault.As("", fault.Hang()),
		"a label of another fault": fault.As("message_storm", fault.Hang()),
		"a kind that is no label":  fault.As("hang", fault.Fail(errBusy)),
		"a fault without labels":   fault.As("guardrail_down", fault.AuthExpired()),
		"a fault of one's own":     fault.As("guardrail_down", Abridge(1)),
		"no fault":                 fault.As("guardrail_hang", nil),
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: target, Fault: f})
		var wrong *chaos.ParamError
		require.ErrorAs(t, err, &wrong, why)
		assert.Equal(t, "As", wrong.Kind, why)
		assert.ErrorContains(t, err, "guardrail_hang of hang", why)
	}
}

// The problems of a label and of the fault's parameters are joined.
func TestLabelsCheckParameters(t *testing.T) {
	assert.Equal(t, []string{"times", "kind"}, fields(fault.As("x", fault.Repeat(1)).(chaos.Checked).Check()))
	assert.Equal(t, []string{"tools", "kind"}, fields(fault.As("x", fault.ToolRemoved()).(chaos.Checked).Check()))
	assert.Equal(t, "guardrail_down", fault.As("guardrail_down", fault.As("delegation_rejected", fault.Fail(errBusy))).(chaos.Described).Describe().Kind,
		"the last kind counts")
	f := fault.As("guardrail_down", fault.Fail(errBusy))
	assert.Equal(t, errBusy, f.(chaos.Failer).Fail(chaos.Call{}), "what a fault can do, it can do under another kind")
	assert.True(t, slices.ContainsFunc(fault.Rows(), func(r *catalog.Row) bool { return r.Kind == "guardrail_down" && r.Base == "error" }))
}

// Parameters that make no sense are refused before any call, each by name.
func TestBadParameters(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why    string
		fault  chaos.Fault
		fields []string
	}{
		{"a delay of nothing is no fault", fault.Delay(0), []string{"duration"}},
		{"time does not run backwards", fault.Delay(-time.Second), []string{"duration"}},
		{"an empty range", fault.Uniform(time.Second, time.Second), []string{"hi"}},
		{"a range the wrong way round", fault.Uniform(time.Second, 0), []string{"hi"}},
		{"a range from before now", fault.Uniform(-1, 1), []string{"lo"}},
		{"both ends wrong", fault.Uniform(-1, -2), []string{"lo", "hi"}},
		{"no spread: that is Delay", fault.Normal(time.Second, 0), []string{"stddev"}},
		{"a negative mean and deviation", fault.Normal(-1, -1), []string{"mean", "stddev"}},
		{"a mean of nothing", fault.Exponential(0), []string{"mean"}},
		{"a failure without an error", fault.Fail(nil), []string{"err"}},
		{"a negative time-out", fault.Timeout(-1), []string{"duration"}},
		{"a negative wait for a lost reply", fault.LoseReplyAfter(-1), []string{"duration"}},
		{"once is not again", fault.Repeat(1), []string{"times"}},
		{"a mutation without a name and a function", fault.Mutate[int]("", nil), []string{"name", "fn"}},
		{"a spike that is none", fault.Spike(-1, -1, 2), []string{"share", "usual", "spike"}},
		{"a spike every time is a delay", fault.Spike(0, 1, 1), []string{"share"}},
		{"a spike of no number", fault.Spike(0, 1, nan), []string{"share"}},
		{"no degradation", fault.RampUp(0, -1), []string{"step", "most"}},
		{"no slow degradation", fault.RampUpWith(0, 0), []string{"most", "over"}},
		{"no tool", fault.ToolRemoved(), []string{"tools"}},
		{"a tool without a name", fault.ToolRemoved("a", ""), []string{"tools"}},
		{"lost before it was sent", fault.LoseRequest(-1), []string{"duration"}},
		{"late, and there before its time", fault.LateResult("*.set", time.Second, 0), []string{"after"}},
		{"late of nothing", fault.LateResult("", -1, 0), []string{"wait", "calls"}},
		{"visible at once", fault.DelayedVisibility("[", 0, nil), []string{"duration", "writes"}},
		{"held for nothing", fault.ReorderCalls(0), []string{"wait"}},
		{"before the beginning", fault.CutAfterWith(-1, nil), []string{"after", "message"}},
		{"a stall before the beginning", fault.HangAtItem(-1), []string{"after"}},
		{"not slow", fault.SlowItems(0), []string{"duration"}},
		{"not slow at first", fault.SlowFirstItem(-1), []string{"duration"}},
		{"no item", fault.DuplicateItem(-1), []string{"after"}},
		{"no item to malform", fault.MalformItem(-1), []string{"after"}},
		{"an end before the beginning", fault.EndAfter(-1), []string{"after"}},
		{"nothing to reorder", fault.ReorderItems(1), []string{"window"}},
		{"no calls at all", fault.CallBudget(0, -1), []string{"limit", "refill"}},
		{"no usage", fault.TokenBudget(1, "", 0), []string{"usage"}},
		{"no price", fault.CostBudget(nan, 0, 0, fault.OpenAIUsage, 0), []string{"limit", "outputPrice"}},
		{"prices of no numbers", fault.CostBudget(1, nan, nan, fault.OpenAIUsage, 0), []string{"inputPrice", "outputPrice"}},
		{"a reward", fault.CostBudget(1, -1, 2, fault.OpenAIUsage, 0), []string{"inputPrice"}},
		{"no time", fault.TimeBudget(0, 0), []string{"limit"}},
		{"no memory", fault.MemoryBudget(-1, 0), []string{"limit"}},
		{"nobody at all", fault.ConcurrencyLimit(0), []string{"limit"}},
		{"no rate", fault.RateLimit(0, 0), []string{"limit", "per"}},
		{"down without an error", fault.As("guardrail_down", fault.Fail(nil)), []string{"err"}},
		{"nothing approves", fault.StaleApproval(nil), []string{"value"}},
		{"a patch that is no object", fault.CorruptHandoff(json.RawMessage(`[1]`)), []string{"patch"}},
		{"a patch that is no JSON", fault.CorruptHandoff(json.RawMessage(`{} {`)), []string{"patch"}},
		{"no patch", fault.CorruptHandoff(nil), []string{"patch"}},
		{"a route without a member", fault.Misroute("", "billing"), []string{"member"}},
		{"no delay", fault.As("handoff_delayed", fault.Delay(0)), []string{"duration"}},
		{"one is no storm", fault.As("message_storm", fault.Repeat(1)), []string{"times"}},
		{"rejected without an error", fault.As("delegation_rejected", fault.Fail(nil)), []string{"err"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: target, Fault: c.fault})
			assert.Equal(t, c.fields, fields(err))
			var rule *chaos.RuleError
			assert.ErrorAs(t, err, &rule)
			var param *chaos.ParamError
			assert.ErrorAs(t, err, &param)
			assert.Equal(t, "Fault", rule.Field)
			assert.ErrorContains(t, err, `chaos: rule "r": Fault: `)
			assert.ErrorContains(t, err, "; allowed: ")
			assert.NotPanics(t, func() { c.fault.(chaos.Described).Describe() })
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

// The fault of docs/extending.md keeps the rules that the page sets up.
func TestTheExampleKeepsTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, chaostest.Fault(Abridge(12), &chaostest.FaultOptions{Result: "a table of good make"}))
	})
}

// The program in docs/extending.md, piece by piece, is the one that the
// tests compile and run.
func TestPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "extending.md"))
	require.NoError(t, err)
	example, err := os.ReadFile("example_own_test.go")
	require.NoError(t, err)
	own, _, found := strings.Cut(string(page), "\n## Habits: middleware around the tools\n") // which has programs of its own
	require.True(t, found)
	var pieces []string
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(own, -1) {
		pieces = append(pieces, block[1])
	}
	assert.Equal(t, string(example), strings.Join(pieces, "\n"))
}

// Run by hand, with no call behind it, a fault does to the one who runs it
// what it would do to a caller.
func TestTriggeredByHand(t *testing.T) {
	for _, r := range catalogue() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				require.NoError(t, in.Register(chaos.Rule{Name: "by hand", Target: target, Fault: r.fault}))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				spent := took(func() {
					defer func() { assert.Equal(t, r.panics, recover() != nil) }()
					fired, err := in.InjectNow(ctx, "by hand")
					assert.True(t, fired)
					for _, want := range r.is {
						assert.ErrorIs(t, err, want)
					}
					assert.Equal(t, r.is != nil, err != nil)
				})
				assert.LessOrEqual(t, max(r.lo, r.spent), spent)
			})
		})
	}
}
