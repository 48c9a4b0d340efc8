package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// place is where a fault stands in the catalogue.
type place struct {
	name   string
	fault  chaos.Fault
	kind   string
	layer  chaos.Layer
	class  chaos.Class
	seen   chaos.Visibility
	lasts  chaos.Persistence
	effect chaos.Effect
	params string // as JSON; empty: none
}

// families are the faults whose doing takes more than one call to see; their
// tests are beside them.
func families() []place {
	const (
		stream, resource, control, multi = chaos.LayerStream, chaos.LayerResource, chaos.LayerControl, chaos.LayerMultiAgent
		crash, omission, timing          = chaos.ClassCrash, chaos.ClassOmission, chaos.ClassTiming
		value, protocol                  = chaos.ClassValue, chaos.ClassProtocol
		explicit, implicit               = chaos.Explicit, chaos.Implicit
		once, always                     = chaos.Transient, chaos.Permanent
		none, done, unknown              = chaos.EffectNone, chaos.EffectDone, chaos.EffectUnknown
		s                                = time.Second
	)
	doc := func(s string) json.RawMessage { return json.RawMessage(s) }
	tell := func(context.Context, string) (string, error) { return "", nil }
	return []place{
		{"Spike", fault.Spike(0, s, 0.01), "latency", "", timing, implicit, once, done, `{"distribution":"spike","usual":"0s","spike":"1s","share":0.01}`},
		{"RampUp", fault.RampUp(s, 9*s), "latency", "", timing, implicit, once, done, `{"distribution":"degrading","step":"1s","most":"9s"}`},
		{"RampUpWith", fault.RampUpWith(s, 60*s), "latency", "", timing, implicit, once, done, `{"distribution":"degrading_over","most":"1s","over":"1m0s"}`},
		{"AuthExpired", fault.AuthExpired(), "auth_expired", "", crash, explicit, always, none, ""},
		{"ToolRemoved", fault.ToolRemoved("a", "b"), "tool_removed", chaos.LayerTool, crash, explicit, always, none, `{"tools":["a","b"]}`},

		{"LoseRequest", fault.LoseRequest(s), "lost_request", "", omission, explicit, once, none, `{"duration":"1s"}`},
		{"DeliverTwice", fault.DeliverTwice(), "delivered_twice", "", protocol, implicit, once, done, ""},
		{"ReplayRequest", fault.ReplayRequest(), "replayed_request", "", protocol, implicit, once, done, ""},
		{"SilentNoOp", fault.SilentNoOp(), "silent_no_op", "", omission, implicit, once, none, ""},
		{"SilentNoOpWith", fault.SilentNoOpWith("ok"), "silent_no_op", "", omission, implicit, once, none, `{"value":"ok"}`},
		{"LateResult", fault.LateResult("*.set", s, 5*s), "late_result", "", timing, explicit, once, unknown, `{"calls":"*.set","wait":"1s","after":"5s"}`},
		{"IgnoreCancel", fault.IgnoreCancel(), "ignored_cancellation", "", timing, implicit, once, done, ""},
		{"DelayedVisibility", fault.DelayedVisibility("*.set", s, doc(`{"n":1}`)), "delayed_visibility", "", timing, implicit, once, done, `{"writes":"*.set","duration":"1s","before":{"n":1}}`},
		{"ReorderCalls", fault.ReorderCalls(s), "reordered_calls", "", protocol, implicit, once, done, `{"wait":"1s"}`},

		{"CutAfter", fault.CutAfter(2), "stream_cut", stream, crash, explicit, once, unknown, `{"after":2,"message":"unexpected EOF"}`},
		{"CutAfterWith", fault.CutAfterWith(0, errBusy), "stream_cut", stream, crash, explicit, once, unknown, `{"after":0,"message":"upstream is busy"}`},
		{"HangAtItem", fault.HangAtItem(0), "stream_hang", stream, timing, explicit, once, unknown, `{"after":0}`},
		{"SlowFirstItem", fault.SlowFirstItem(s), "slow_first_item", stream, timing, implicit, once, done, `{"duration":"1s"}`},
		{"SlowItems", fault.SlowItems(s), "slow_items", stream, timing, implicit, once, done, `{"duration":"1s"}`},
		{"DuplicateItem", fault.DuplicateItem(1), "duplicate_item", stream, protocol, implicit, once, done, `{"after":1}`},
		{"MalformItem", fault.MalformItem(1), "malformed_item", stream, protocol, implicit, once, done, `{"after":1}`},
		{"MutateItem", fault.MutateItem(1, "upper", strings.ToUpper), "mutate_item", stream, value, implicit, once, done, `{"after":1,"name":"upper","type":"string"}`},
		{"EndAfter", fault.EndAfter(1), "early_end", stream, omission, implicit, once, done, `{"after":1}`},
		{"DropLastItem", fault.DropLastItem(), "missing_terminator", stream, omission, implicit, once, done, ""},
		{"ReorderItems", fault.ReorderItems(3), "reordered_items", stream, protocol, implicit, once, done, `{"window":3}`},

		{"CallBudget", fault.CallBudget(3, 0), "call_budget", resource, crash, explicit, always, none, `{"limit":3}`},
		{"TokenBudget", fault.TokenBudget(9, fault.OpenAIUsage(), s), "token_budget", resource, crash, explicit, once, none, `{"limit":9,"usage":"openai","refill":"1s"}`},
		{"CostBudget", fault.CostBudget(0.5, 3, 15, fault.AnthropicUsage(), 0), "cost_budget", resource, crash, explicit, always, none, `{"limit":0.5,"inputPrice":3,"outputPrice":15,"usage":"anthropic"}`},
		{"TimeBudget", fault.TimeBudget(s, 60*s), "time_budget", resource, crash, explicit, once, none, `{"limit":"1s","refill":"1m0s"}`},
		{"MemoryBudget", fault.MemoryBudget(1024, 0), "memory_budget", resource, crash, explicit, always, none, `{"limit":1024}`},
		{"DiskBudget", fault.DiskBudget(1024, 0), "disk_budget", resource, crash, explicit, always, none, `{"limit":1024}`},
		{"DiskFull", fault.DiskFull(), "disk_full", resource, crash, explicit, once, none, ""},
		{"ConcurrencyLimit", fault.ConcurrencyLimit(2), "concurrency_limit", resource, crash, explicit, once, none, `{"limit":2}`},
		{"RateLimit", fault.RateLimit(2, s), "rate_limit", resource, crash, explicit, once, none, `{"limit":2,"per":"1s"}`},

		{"As guardrail_down", fault.As("guardrail_down", fault.Fail(errBusy)), "guardrail_down", control, crash, explicit, once, none, `{"message":"upstream is busy"}`},
		{"As guardrail_hang", fault.As("guardrail_hang", fault.Hang()), "guardrail_hang", control, timing, explicit, once, none, ""},
		{"As forced_verdict", fault.As("forced_verdict", fault.Replace("approved")), "forced_verdict", control, value, implicit, once, done, `{"value":"approved"}`},
		{"StaleApproval", fault.StaleApproval(true), "stale_approval", control, value, implicit, once, done, `{"value":true}`},

		{"CorruptHandoff", fault.CorruptHandoff(doc(`{"n":1}`)), "handoff_corrupt", multi, value, implicit, once, done, `{"patch":{"n":1}}`},
		{"CorruptHandoffWith", fault.CorruptHandoffWith("upper", strings.ToUpper), "handoff_corrupt", multi, value, implicit, once, done, `{"name":"upper","type":"string"}`},
		{"As handoff_dropped", fault.As("handoff_dropped", fault.SilentNoOpWith(nil)), "handoff_dropped", multi, omission, implicit, once, none, `{"value":null}`},
		{"As handoff_delayed", fault.As("handoff_delayed", fault.Delay(s)), "handoff_delayed", multi, timing, implicit, once, done, `{"duration":"1s"}`},
		{"Misroute", fault.Misroute("to", "billing"), "misroute", multi, protocol, implicit, once, done, `{"member":"to","agent":"billing"}`},
		{"MisrouteWith", fault.MisrouteWith("billing", tell), "misroute", multi, protocol, implicit, once, none, `{"name":"billing","type":"string"}`},
		{"As message_storm", fault.As("message_storm", fault.Repeat(20)), "message_storm", multi, protocol, implicit, once, done, `{"times":20}`},
		{"CycleHandoff", fault.CycleHandoff("back to you"), "handoff_cycle", multi, protocol, implicit, once, none, `{"value":"back to you"}`},
		{"As delegation_rejected", fault.As("delegation_rejected", fault.Fail(fault.ErrDeclined)), "delegation_rejected", multi, crash, explicit, always, none, `{"message":"the agent declined the task"}`},
	}
}

// Each says what it is, its parameters are the JSON that a plan has, and they
// are well formed as they stand.
func TestFamilies(t *testing.T) {
	for _, p := range families() {
		t.Run(p.name, func(t *testing.T) {
			d := p.fault.(chaos.Described).Describe()
			if p.params == "" {
				assert.Empty(t, d.Params)
			} else {
				assert.JSONEq(t, p.params, string(d.Params))
			}
			d.Params = nil
			assert.Equal(t, chaos.Description{Kind: p.kind, Layer: p.layer, Class: p.class, Visibility: p.seen, Persistence: p.lasts, Effect: p.effect}, d)
			_, err := chaos.NewPlan(1, chaos.Rule{Target: target, Fault: p.fault})
			assert.NoError(t, err)
			if s, ok := p.fault.(chaos.Stateful); ok {
				assert.Equal(t, p.fault.(chaos.Described).Describe(), s.Fresh().(chaos.Described).Describe())
			}
		})
	}
}

// What makes no sense is refused, each parameter by the name it has in JSON.
func TestBadParametersOfFamilies(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why    string
		fault  chaos.Fault
		fields []string
	}{
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
		{"no way to change no item", fault.MutateItem[string](-1, "", nil), []string{"after", "name", "fn"}},
		{"an end before the beginning", fault.EndAfter(-1), []string{"after"}},
		{"nothing to reorder", fault.ReorderItems(1), []string{"window"}},
		{"no calls at all", fault.CallBudget(0, -1), []string{"limit", "refill"}},
		{"no usage", fault.TokenBudget(1, fault.Usage{}, 0), []string{"usage"}},
		{"no usage function", fault.TokenBudget(1, fault.UsageFunc[string]("mine", nil), 0), []string{"usage"}},
		{"no price", fault.CostBudget(nan, 0, 0, fault.OpenAIUsage(), 0), []string{"limit", "outputPrice"}},
		{"a reward", fault.CostBudget(1, -1, 2, fault.OpenAIUsage(), 0), []string{"inputPrice"}},
		{"no time", fault.TimeBudget(0, 0), []string{"limit"}},
		{"no memory", fault.MemoryBudget(-1, 0), []string{"limit"}},
		{"no disk", fault.DiskBudget(0, 0), []string{"limit"}},
		{"nobody at all", fault.ConcurrencyLimit(0), []string{"limit"}},
		{"no rate", fault.RateLimit(0, 0), []string{"limit", "per"}},
		{"down without an error", fault.As("guardrail_down", fault.Fail(nil)), []string{"err"}},
		{"nothing approves", fault.StaleApproval(nil), []string{"value"}},
		{"a patch that is no object", fault.CorruptHandoff(json.RawMessage(`[1]`)), []string{"patch"}},
		{"a patch that is no JSON", fault.CorruptHandoff(json.RawMessage(`{} {`)), []string{"patch"}},
		{"no patch", fault.CorruptHandoff(nil), []string{"patch"}},
		{"nothing corrupts", fault.CorruptHandoffWith[string]("", nil), []string{"name", "fn"}},
		{"a route without a member", fault.Misroute("", "billing"), []string{"member"}},
		{"a route to nobody", fault.MisrouteWith[string, string]("", nil), []string{"name", "to"}},
		{"no delay", fault.As("handoff_delayed", fault.Delay(0)), []string{"duration"}},
		{"one is no storm", fault.As("message_storm", fault.Repeat(1)), []string{"times"}},
		{"rejected without an error", fault.As("delegation_rejected", fault.Fail(nil)), []string{"err"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: target, Fault: c.fault})
			assert.Equal(t, c.fields, fields(err))
			assert.NotPanics(t, func() { c.fault.(chaos.Described).Describe() })
		})
	}
}

// Nothing that a caller reads tells that it was made up.
func TestErrorsOfFamilies(t *testing.T) {
	for _, err := range []error{
		fault.ErrTokenExpired, fault.ErrDeclined, io.ErrUnexpectedEOF,
		&fault.BudgetError{Resource: "call", Limit: 3, Used: 3, RetryAfter: time.Second},
		&fault.BudgetError{Resource: "cost", Limit: 0.5, Used: 0.625},
		&fault.BudgetError{Resource: "time", Limit: 1, Used: 1.5},
		&fault.BudgetError{Resource: "rate", Limit: 3, RetryAfter: time.Second},
		&fault.BudgetError{Resource: "concurrency", Limit: 3},
		&fault.BudgetError{Resource: "memory"}, &fault.BudgetError{Resource: "disk"},
	} {
		for _, word := range []string{"chaos", "inject", "fault", "test", "shakedown"} {
			assert.NotContains(t, strings.ToLower(err.Error()), word)
		}
	}
	assert.EqualError(t, &fault.BudgetError{Resource: "token", Limit: 1000, Used: 1024}, "quota exceeded: 1024 of 1000 tokens used")
	assert.EqualError(t, &fault.BudgetError{Resource: "rate", Limit: 3, RetryAfter: time.Second}, "too many requests: the limit is 3, try again in 1s")
	assert.False(t, errors.Is(&fault.BudgetError{Resource: "call"}, fault.ErrRateLimited))
}
