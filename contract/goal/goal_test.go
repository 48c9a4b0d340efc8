package goal_test

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
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/goal"
)

// call is an event of a call that began with the one before.
func call(target string, outcome chaos.Outcome, change ...func(*chaos.Event)) chaos.Event {
	e := chaos.Event{Target: target, Outcome: outcome, Key: 1, Attempt: 1}
	for _, c := range change {
		c(&e)
	}
	return e
}

func delivered(e *chaos.Event) { e.Delivered = true }

func TestGoals(t *testing.T) {
	ok, failed, injected := chaos.OutcomeOK, chaos.OutcomeFailed, chaos.OutcomeInjected
	for _, row := range []struct {
		why  string
		goal contract.Goal
		o    contract.Observation
		want bool
	}{
		{"a call", goal.Called("orders.*"), contract.Observation{Events: []chaos.Event{call("orders.get", ok)}}, true},
		{"a slow call", goal.Called("orders.*"), contract.Observation{Events: []chaos.Event{call("orders.get", ok, delivered)}}, true},
		{"a call of something else", goal.Called("orders.*"), contract.Observation{Events: []chaos.Event{call("mail.send", ok)}}, false},
		{"a call that failed", goal.Called("orders.*"), contract.Observation{Events: []chaos.Event{call("orders.get", injected, delivered), call("orders.get", failed)}}, false},
		{"no call", goal.Called("*"), contract.Observation{Response: "orders.get"}, false},

		{"a retry", goal.Recovered("orders.get"), contract.Observation{Events: []chaos.Event{call("orders.get", injected, delivered), call("orders.get", ok)}}, true},
		{"another failure between", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("b", ok), call("a", failed), call("a", ok)}}, true},
		{"a panic before", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", chaos.OutcomePanicked, delivered), call("a", ok)}}, true},
		{"a failure of the tool's own", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", failed), call("a", ok)}}, false},
		{"another order", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("a", ok, func(e *chaos.Event) { e.Key = 2 })}}, false},
		{"another lane", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("a", ok, func(e *chaos.Event) { e.Lane = "b" })}}, false},
		{"a retry of the tool, not of the agent", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("a", ok, func(e *chaos.Event) { e.Caller = "b" })}}, false},
		{"another target of the glob", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("b", ok)}}, false},
		{"a success before", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{call("a", ok), call("a", injected, delivered)}}, false},
		{"a hedge: the call began before the failure", goal.Recovered("*"), contract.Observation{Events: []chaos.Event{
			call("a", injected, delivered, func(e *chaos.Event) { e.End = time.Second }), call("a", ok, func(e *chaos.Event) { e.Start = time.Millisecond })}}, false},
		{"a target that is not asked about", goal.Recovered("b"), contract.Observation{Events: []chaos.Event{call("a", injected, delivered), call("a", ok)}}, false},

		{"an answer", goal.Answered("refund(ed)? 1042"), contract.Observation{Response: "I refunded 1042."}, true},
		{"another answer", goal.Answered("refund(ed)? 1042"), contract.Observation{Response: "I refunded 1043."}, false},
		{"an error", goal.Answered("refunded"), contract.Observation{Response: "refunded", Err: errors.New("failed")}, false},
	} {
		require.NoError(t, row.goal.Err)
		assert.Equal(t, row.want, row.goal.Reached(&row.o), "%s: %s", row.goal.Name, row.why)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "called-orders.get", goal.Called("orders.get").Name)
	assert.Equal(t, "recovered-orders._a_b_", goal.Recovered("orders.{a,b}").Name)
	long := goal.Answered("refunded .* of (the|an) order, and then some more words that nobody wants in a table").Name
	assert.Equal(t, "answered-refunded_._of_the_an_order_and_then_some_more_words", long)
}

func TestBadArguments(t *testing.T) {
	for want, g := range map[string]contract.Goal{
		"goal: Called: target": goal.Called("orders.["), "goal: Recovered: target": goal.Recovered(""),
		"goal: Answered: pattern is \"(\"": goal.Answered("("), "goal: Answered: pattern is \"\"": goal.Answered(""),
	} {
		var field *contract.FieldError
		require.ErrorAs(t, g.Err, &field)
		assert.ErrorContains(t, g.Err, want)
		assert.False(t, g.Reached(&contract.Observation{}))
	}
}

// An agent that retries reaches the goal; the same without the retry turns the verdict,
// though every invariant holds.
func TestARemovedRetryTurnsTheVerdict(t *testing.T) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) { return "noon", nil }))
	require.NoError(t, err)
	for tries, want := range map[int]string{2: "PASS", 1: "INCONCLUSIVE"} {
		m := &contract.Matrix{
			NewWorld: func(context.Context) (*contract.World, error) {
				return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					for range tries {
						if said, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`)); err == nil {
							return string(said), nil
						}
					}
					return "I do not know", nil
				}}, nil
			},
			Prompts:    []string{"What time is it?"},
			Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }}},
			Scenarios:  []contract.Scenario{contract.Calm(), contract.Under("flaky", chaos.Rule{Target: "clock", When: when.Nth(1), Fault: fault.Fail(fault.ErrUnavailable)})},
			Goals:      []contract.Goal{goal.Recovered("clock")},
		}
		r, err := m.Run(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, want, r.Score.Verdict.String(), r.Score.Why)
	}
}
