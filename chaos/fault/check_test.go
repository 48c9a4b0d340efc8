package fault_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/stretchr/testify/assert"
)

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
		{"a time-out without an error", fault.TimeoutWith(-1, nil), []string{"duration", "err"}},
		{"a negative wait for a lost reply", fault.LoseReplyAfter(-1), []string{"duration"}},
		{"a lost reply without an error", fault.LoseReplyWith(nil), []string{"err"}},
		{"both", fault.LoseReplyAfterWith(-1, nil), []string{"duration", "err"}},
		{"once is not again", fault.Repeat(1), []string{"times"}},
		{"a mutation without a name and a function", fault.Mutate[int]("", nil), []string{"name", "fn"}},
		{"a spike that is none", fault.Spike(-1, -1, 2), []string{"share", "usual", "spike"}},
		{"a spike every time is a delay", fault.Spike(0, 1, 1), []string{"share"}},
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
		{"no usage", fault.TokenBudget(1, fault.Usage{}, 0), []string{"usage"}},
		{"no usage function", fault.TokenBudget(1, fault.UsageFunc[string]("mine", nil), 0), []string{"usage"}},
		{"no price", fault.CostBudget(nan, 0, 0, fault.OpenAIUsage(), 0), []string{"limit", "outputPrice"}},
		{"a reward", fault.CostBudget(1, -1, 2, fault.OpenAIUsage(), 0), []string{"inputPrice"}},
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
			assert.Equal(t, "Fault", rule.Field)
			assert.ErrorContains(t, err, `chaos: rule "r": Fault: `)
			assert.ErrorContains(t, err, "; allowed: ")
			assert.NotPanics(t, func() { c.fault.(chaos.Described).Describe() })
		})
	}
}

// fields are the parameters that an error complains of, in order.
func fields(err error) (names []string) {
	if p, ok := err.(*chaos.ParamError); ok {
		return []string{p.Param}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			names = append(names, fields(err)...)
		}
		return names
	}
	if inner := errors.Unwrap(err); inner != nil {
		return fields(inner)
	}
	return nil
}
