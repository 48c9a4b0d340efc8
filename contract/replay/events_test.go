package replay_test

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
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
)

// shop are tools: one that looks, one that pays, and one that calls another one and a
// wrapped function that does so too.
func shop(t *testing.T, in *chaos.Injector) chaos.ToolRegistry {
	t.Helper()
	var tools chaos.ToolRegistry
	step := chaos.Wrap("step", func(ctx context.Context, order int) (int, error) {
		_, err := tools.CallTool(ctx, "look", json.RawMessage(`{"Order":8}`))
		return order, err
	})
	type args struct{ Order int }
	registry, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "look", Effect: chaos.EffectNone}, func(_ context.Context, a args) (int, error) {
			if a.Order == 0 {
				return 0, errors.New("no such order")
			}
			return a.Order, nil
		}),
		chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone}, func(_ context.Context, a args) (string, error) { return "paid", nil }),
		chaos.Func(chaos.Tool{Name: "report"}, func(ctx context.Context, a args) (string, error) {
			_, err := tools.CallTool(ctx, "look", json.RawMessage(`{"Order":9}`))
			_, failed := step(ctx, 1)
			return "done", errors.Join(err, failed)
		}))
	require.NoError(t, err)
	tools = chaos.WrapRegistry(registry, in)
	return tools
}

// visit makes the calls of the tests below.
func visit(ctx context.Context, tools chaos.ToolRegistry) {
	_, _ = tools.Tools(ctx)
	_, _ = tools.CallTool(ctx, "look", json.RawMessage(`{"Order":7}`))
	_, _ = tools.CallTool(ctx, "pay", json.RawMessage(`{"Order":7}`))
	_, _ = tools.CallTool(chaos.WithLane(ctx, "b"), "pay", json.RawMessage(`{"Order":7}`))
	_, _ = tools.CallTool(ctx, "look", json.RawMessage(`{"Order":0}`))
	_, _ = tools.CallTool(ctx, "report", nil)
	_, _ = chaos.Wrap("clock", func(context.Context, int) (int, error) { return 1, nil })(ctx, 1)
	_, _ = tools.CallTool(ctx, "look", json.RawMessage(`{"Order":8}`))
}

func recorded(t *testing.T, o chaos.InjectorOptions, rules ...chaos.Rule) []chaos.Event {
	t.Helper()
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	o.RecordAll = true
	in := plan.Injector("cell/1", &o)
	visit(chaos.NewContext(t.Context(), in), shop(t, in))
	return in.Events()
}

func TestFromEventsHasWhatTheAgentSaw(t *testing.T) {
	lost := chaos.Rule{Target: "pay", When: when.Nth(1), Fault: fault.LoseReplyAfter(0)}
	changed := chaos.Rule{Target: "look", When: when.Nth(1), Fault: fault.Replace("maintenance")}
	s, err := replay.FromEvents(replay.Origin{ID: "4711"}, recorded(t, chaos.InjectorOptions{KeepValues: true}, lost, changed))
	require.NoError(t, err)
	assert.Equal(t, replay.Origin{Dialect: "events", ID: "4711"}, s.Source)
	type row struct {
		tool, lane, args, result, err string
		effect                        findings.Effect
		parent                        int
	}
	var got []row
	for _, c := range s.Calls {
		r := row{tool: c.Tool, lane: c.Lane, args: string(c.Args), result: string(c.Result), effect: c.Effect, parent: c.Parent}
		if c.Error != nil {
			r.err = c.Error.Text
		}
		assert.Empty(t, c.Missing)
		got = append(got, r)
	}
	assert.Equal(t, []row{
		{tool: "look", args: `{"Order":7}`, result: `"maintenance"`, effect: findings.NotDone},
		{tool: "pay", args: `{"Order":7}`, err: "i/o timeout", effect: findings.Done}, // the reply of lane "" alone: the first in each lane
		{tool: "pay", lane: "b", args: `{"Order":7}`, err: "i/o timeout", effect: findings.Done},
		{tool: "look", args: `{"Order":0}`, err: "no such order", effect: findings.NotDone},
		{tool: "report", result: `"done"`},
		{tool: "look", args: `{"Order":9}`, result: `9`, effect: findings.NotDone, parent: 5},
		{tool: "look", args: `{"Order":8}`, result: `8`, effect: findings.NotDone, parent: 5}, // within a wrapped function
		{tool: "look", args: `{"Order":8}`, result: `8`, effect: findings.NotDone},
	}, got, "neither the listing nor wrapped functions")

	p, err := s.Player(nil)
	require.NoError(t, err)
	again := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, KeepValues: true})
	visit(chaos.NewContext(t.Context(), again), p)
	assert.NoError(t, p.Err())
	assert.Empty(t, p.Unplayed(), "all calls of the agent; those of the tool are its own affair")
}

func TestFromEventsSaysWhatIsMissing(t *testing.T) {
	s, err := replay.FromEvents(replay.Origin{}, recorded(t, chaos.InjectorOptions{}))
	require.NoError(t, err)
	assert.Equal(t, []findings.Part{findings.Result}, s.Calls[0].Missing)
	assert.NotEmpty(t, s.Calls[0].ArgsHash)
	_, err = s.Player(nil)
	assert.ErrorContains(t, err, "replay: calls[0] is without its result; allowed: a call that was recorded whole (an event: with KeepValues), or PlayOptions.AllowHoles")
	p, err := s.Player(&replay.PlayOptions{AllowHoles: true})
	require.NoError(t, err)
	_, err = p.CallTool(t.Context(), "look", json.RawMessage(`{"Order":0}`))
	assert.EqualError(t, err, "no such order", "a failure is known whole: its arguments are told by their hash")
	_, err = p.CallTool(t.Context(), "pay", json.RawMessage(`{"Order":7}`))
	assert.ErrorContains(t, err, "nearest: call 2 of 8, which was recorded without its result")

	events := recorded(t, chaos.InjectorOptions{})
	events[3].Cell = "other/1"
	_, err = replay.FromEvents(replay.Origin{}, events)
	assert.EqualError(t, err, `replay: events[3].cell is "other/1"; allowed: events of one cell; the first is of "cell/1"`)
	s, err = replay.FromEvents(replay.Origin{}, nil)
	require.NoError(t, err)
	assert.Empty(t, s.Calls)
}

// paying is a matrix of an agent that pays twice if the first reply is lost.
func paying(t *testing.T, overlap bool, rules ...chaos.Rule) *contract.Matrix {
	return &contract.Matrix{
		Name: "paying", KeepValues: true, Prompts: []string{"hello", "pay"}, Seed: 7,
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			return &contract.World{Tools: shop(t, chaos.FromContext(ctx)), Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				if prompt == "hello" {
					_, _ = tools.CallTool(ctx, "look", json.RawMessage(`{"Order":7}`))
					return "hello", nil
				}
				pay := func() error { _, err := tools.CallTool(ctx, "pay", json.RawMessage(`{"Order":7}`)); return err }
				if overlap {
					other := make(chan error)
					go func() { other <- pay() }()
					return "both", errors.Join(pay(), <-other)
				}
				if pay() != nil {
					return "paid", pay()
				}
				return "paid", nil
			}}, nil
		},
		Invariants: []contract.Invariant{{Name: "one_try", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			if len(o.Events) > 1 {
				return errors.New("paid twice")
			}
			return nil
		}}},
		Scenarios: []contract.Scenario{contract.Calm(), contract.Under("lost", rules...)},
	}
}

func TestFromCell(t *testing.T) {
	m := paying(t, false, chaos.Rule{Name: "lost", Target: "p*", When: when.First(1), Limit: 3, Group: "g", Fault: fault.LoseReplyAfter(time.Millisecond)})
	cell, err := m.RunCell(t.Context(), contract.Cell{Scenario: "lost", Invariant: "one_try", Trial: 1}, nil)
	require.NoError(t, err)
	require.True(t, cell.Violated)
	s, err := replay.FromCell(m, cell)
	require.NoError(t, err)
	require.NoError(t, s.Validate())
	assert.Regexp(t, `^lost_one_try_1-[0-9a-f]{8}$`, s.Name, "a hash where the name alone could be that of another cell")
	assert.Equal(t, "paying", s.Contract)
	assert.Equal(t, replay.Origin{Dialect: "cell", ID: "lost/one_try/1"}, s.Source)
	assert.Equal(t, []string{"hello", "pay"}, s.Prompts)
	assert.Equal(t, "paid", s.Answer)
	assert.Equal(t, "paid twice", s.ExpectedFailure)
	assert.Len(t, s.Tools, 3)
	require.Len(t, s.Calls, 3, "those of both prompts")
	assert.Equal(t, "i/o timeout", s.Calls[1].Error.Text)
	assert.Equal(t, findings.Done, s.Calls[1].Effect)

	text, err := json.Marshal(s.Plan)
	require.NoError(t, err)
	assert.JSONEq(t, `{"seed":"7","rules":[{"name":"lost","target":"pay","when":{"kind":"nth","params":{"n":[1]}},
		"fault":{"kind":"lost_reply","params":{"duration":"1ms"}}}]}`, string(text), "by number: calls of one tool, one after the other")
	plan, err := s.Plan.Build(nil)
	require.NoError(t, err)
	again, err := paying(t, false, plan.Rules()...).RunCell(t.Context(), cell.Cell, nil)
	require.NoError(t, err)
	assert.Equal(t, cell.Why, again.Why)
	assert.Equal(t, cell.Delivered, again.Delivered)
}

func TestAPlanIsByCoordinatesWhereNumbersSayLess(t *testing.T) {
	kindOf := func(m *contract.Matrix) string {
		cell, err := m.RunCell(t.Context(), contract.Cell{Scenario: "lost", Invariant: "one_try", Trial: 1}, nil)
		require.NoError(t, err)
		s, err := replay.FromCell(m, cell)
		require.NoError(t, err)
		require.Len(t, s.Plan.Rules, 1)
		return s.Plan.Rules[0].When.Kind
	}
	wait := fault.LoseReplyAfter(20 * time.Millisecond)
	assert.Equal(t, "exactly", kindOf(paying(t, true, chaos.Rule{Target: "pay", Fault: wait})), "calls overlap")
	assert.Equal(t, "exactly", kindOf(paying(t, false, chaos.Rule{Target: "*", When: when.First(1), Fault: fault.LoseReplyAfter(0)})), "two tools")
}

func TestACellWithoutAPlan(t *testing.T) {
	m := paying(t, false, chaos.Rule{Target: "pay", Fault: inCode{}})
	cell, err := m.RunCell(t.Context(), contract.Cell{Scenario: "lost", Invariant: "one_try", Trial: 1}, nil)
	require.NoError(t, err)
	s, err := replay.FromCell(m, cell)
	require.NotNil(t, s, "its calls are known all the same")
	assert.Len(t, s.Calls, 3)
	assert.Nil(t, s.Plan)
	assert.ErrorContains(t, err, "replay: cell lost/one_try/1: its faults cannot be kept: planjson: rule ")

	m.Scenarios = []contract.Scenario{contract.Calm()}
	cell, err = m.RunCell(t.Context(), contract.Cell{Scenario: "calm", Invariant: "one_try", Trial: 1}, &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	s, err = replay.FromCell(m, cell)
	require.NoError(t, err)
	assert.Nil(t, s.Plan, "no rules, no plan")

	cell, err = m.RunCell(t.Context(), cell.Cell, &contract.RunOptions{Keep: contract.KeepNone})
	require.NoError(t, err)
	_, err = replay.FromCell(m, cell)
	assert.EqualError(t, err, "replay: observations is missing; allowed: a report with the observations of its cell")
	_, err = replay.FromCell(nil, nil)
	assert.Error(t, err)
}

// inCode is a fault that only Go code can make.
type inCode struct{}

func (inCode) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errors.New("down")
}
