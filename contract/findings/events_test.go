package findings_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// recorded runs work with the tools of a desk and a model, under rules, and returns the calls.
func recorded(t *testing.T, keep bool, work func(context.Context, chaos.ToolRegistry), rules ...chaos.Rule) []findings.Call {
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: keep})
	type args struct {
		Order int `json:"order"`
	}
	status := chaos.Wrap("http/status", func(context.Context, int) (string, error) { return "up", nil })
	registry, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone}, func(ctx context.Context, a args) (string, error) {
			if a.Order == 13 {
				return "", errors.New("no such order")
			}
			return "refunded", nil
		}),
		chaos.Func(chaos.Tool{Name: "get", Effect: chaos.EffectNone}, func(ctx context.Context, a args) (string, error) {
			return status(ctx, a.Order)
		}),
		chaos.Func(chaos.Tool{Name: "write"}, func(context.Context, args) (string, error) { return "written", nil }),
	)
	require.NoError(t, err)
	ctx := chaos.NewContext(t.Context(), in)
	bound := chaos.WrapRegistry(registry, in)
	_, err = bound.Tools(ctx)
	require.NoError(t, err)
	work(ctx, bound)
	return findings.Calls(in.Events())
}

func TestCallsOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(ctx context.Context, tools chaos.ToolRegistry) {
			ask := chaos.Wrap("llm/gpt", func(context.Context, string) (string, error) { return "call refund", nil })
			_, _ = ask(ctx, "what now?")
			_, _ = tools.CallTool(ctx, "refund", json.RawMessage(order))
			_, _ = tools.CallTool(ctx, "refund", json.RawMessage(order))
			_, _ = tools.CallTool(ctx, "refund", json.RawMessage(`{"order":13}`))
			_, _ = tools.CallTool(chaos.WithLane(ctx, "b"), "get", json.RawMessage(order))
			_, _ = tools.CallTool(ctx, "write", nil)
		}
		rules := []chaos.Rule{{Target: "refund", When: when.Nth(1), Fault: fault.LoseReplyAfter(time.Second)},
			{Target: "write", Fault: fault.Fail(fault.ErrUnavailable)}}
		calls := recorded(t, true, work, rules...)
		byName := map[string][]findings.Call{}
		numbers := map[string]int{}
		for i, c := range calls {
			byName[c.Tool] = append(byName[c.Tool], c)
			numbers[c.Tool] = i + 1
		}
		assert.NotContains(t, byName, chaos.ListTarget, "listing the tools is no call of one")
		assert.Equal(t, findings.Model, byName["llm/gpt"][0].Type)
		require.Len(t, byName["refund"], 3)
		lost, again, refused := byName["refund"][0], byName["refund"][1], byName["refund"][2]
		assert.Equal(t, findings.Call{Type: findings.Tool, Tool: "refund", Args: json.RawMessage(order),
			Error: &findings.CallError{Text: "i/o timeout"}, Effect: findings.Done, Took: time.Second}, lost)
		assert.Equal(t, findings.Call{Type: findings.Tool, Tool: "refund", Args: json.RawMessage(order),
			Result: json.RawMessage(`"refunded"`), Effect: findings.Done, At: time.Second}, again)
		assert.Equal(t, findings.Unknown, refused.Effect, "the callee was reached and failed, and others of the tool had an effect")
		assert.Equal(t, "b", byName["get"][0].Lane)
		assert.Equal(t, numbers["get"], byName["http/status"][0].Parent, "the call was made within that of the tool")
		assert.Equal(t, findings.NotDone, byName["write"][0].Effect, "the callee was not reached")
		assert.Empty(t, byName["write"][0].Missing, "a call without arguments lacks none")

		var before []findings.Call
		for _, c := range recorded(t, false, work, rules...) {
			if c.Tool == "refund" {
				before = append(before, c)
			}
		}
		require.Len(t, before, 3)
		assert.Nil(t, before[0].Args)
		assert.NotEmpty(t, before[0].ArgsHash)
		assert.Equal(t, before[0].ArgsHash, before[1].ArgsHash)
		assert.NotEqual(t, before[0].ArgsHash, before[2].ArgsHash)
		assert.Equal(t, []findings.Part{findings.Result}, before[1].Missing)
	})
}

// Calls that middleware makes of its own are no retries, loops or calls after a final failure of the agent. What they
// do is done.
func TestCallsOfHabits(t *testing.T) {
	calls := func(marked bool) []findings.Call {
		limit := chaos.Rule{Name: "r", Target: "get", Fault: fault.Fail(fault.ErrUnavailable)}
		return recorded(t, true, func(ctx context.Context, tools chaos.ToolRegistry) {
			own := ctx
			if marked {
				own = chaos.WithHabit(ctx, "again")
			}
			for _, call := range []struct{ tool, args string }{{"get", order}, {"refund", order}, {"refund", `{"order":13}`}} {
				for _, ctx := range []context.Context{ctx, own, own, own} {
					_, _ = tools.CallTool(ctx, call.tool, json.RawMessage(call.args))
				}
			}
		}, limit)
	}
	find := func(calls []findings.Call) *findings.Report {
		report, err := findings.Find(calls, &findings.Options{Tools: tools()})
		require.NoError(t, err)
		return report
	}
	for _, kind := range []findings.Kind{findings.Storm, findings.Loop, findings.AfterFinal, findings.DuplicateEffect} {
		assert.NotEmpty(t, shown(find(calls(false)), kind), kind)
	}
	report := find(calls(true))
	for _, kind := range []findings.Kind{findings.Retry, findings.Storm, findings.Loop, findings.AfterFinal} {
		assert.Empty(t, shown(report, kind), kind)
	}
	assert.NotEmpty(t, shown(report, findings.DuplicateEffect), "whoever asks twice, the work is done twice")
	assert.Equal(t, findings.Stopped, *report.Verdict)
	for _, op := range report.Operations {
		assert.Equal(t, 0, *op.Retries, op.Tool)
	}
}

// The parent is the last call to the caller that had begun and not ended.
func TestParents(t *testing.T) {
	event := func(target, caller string, start, end int) chaos.Event {
		return chaos.Event{Target: target, Caller: caller, Layer: chaos.LayerTool, Outcome: chaos.OutcomeOK,
			Start: time.Duration(start) * ms, End: time.Duration(end) * ms}
	}
	calls := findings.Calls([]chaos.Event{
		event("get", "", 0, 9),
		event("get", "", 2, 5),
		event("http", "get", 3, 4), // within both, of which the second began later
		event("http", "get", 6, 7), // within the first
		event("tools/list", "", 8, 8),
		event("http", "get", 12, 13), // within none: left behind by the tool
		event("http", "other", 14, 15),
	})
	var parents []int
	for _, c := range calls {
		parents = append(parents, c.Parent)
	}
	assert.Equal(t, []int{0, 0, 2, 1, 0, 0}, parents)
}

// A fault of the catalogue that describes itself as transient is never taken for
// permanent, nor the other way round. Some texts say neither.
func TestPermanentFaultsOfTheCatalogueAreSeen(t *testing.T) {
	seen := map[chaos.Persistence]int{}
	for _, r := range fault.Rows() {
		if r.HoldsCode() || r.Visibility != chaos.Explicit || r.Kind == "error" {
			continue // the text of error is the user's
		}
		plan, err := planjson.Decode(fmt.Appendf(nil, `{"seed":"1","rules":[{"target":"get","fault":{"kind":%q,"params":%s}}]}`,
			r.Kind, r.Example), nil)
		require.NoError(t, err, r.Kind)
		f := plan.Rules()[0].Fault
		is := f.(chaos.Described).Describe().Persistence
		synctest.Test(t, func(t *testing.T) {
			calls := recorded(t, true, func(ctx context.Context, tools chaos.ToolRegistry) {
				ctx, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				for range 20 { // a budget lasts some calls
					func() {
						defer func() { _ = recover() }() // of a fault that panics
						_, _ = tools.CallTool(ctx, "get", json.RawMessage(order))
					}()
				}
			}, chaos.Rule{Target: "get", Fault: f})
			report, err := findings.Find(calls, &findings.Options{Tools: tools(), Kinds: []findings.Kind{findings.AfterFinal}})
			require.NoError(t, err)
			if is == chaos.Transient {
				assert.Empty(t, report.Findings, "%s is transient", r.Kind)
			}
			failures := 0
			for _, o := range report.Operations {
				failures += o.Failures
			}
			if failures > 1 && (is == chaos.Transient) == (len(report.Findings) == 0) {
				seen[is]++
			}
			if is == chaos.Permanent && failures > 1 {
				assert.NotEqual(t, "", shown(report, findings.AfterFinal), "%s is permanent", r.Kind)
			}
		})
	}
	assert.GreaterOrEqual(t, seen[chaos.Permanent], 2, "credentials, and a delegation; budgets outlast these calls")
	assert.GreaterOrEqual(t, seen[chaos.Transient], 8)
}
