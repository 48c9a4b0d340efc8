package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

var errDown = errors.New("the clock is down")

// fails is the smallest fault: the call returns an error.
type fails struct{}

func (fails) Fail(chaos.Call) error { return errDown }
func (fails) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, errDown
}

// delays is the smallest latency.
type delays struct{ by time.Duration }

func (delays) Phase() chaos.Phase { return chaos.PhaseBefore }
func (f delays) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	if err := chaos.Sleep(ctx, f.by); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
		return nil, err
	}
	return next(ctx, args)
}

// idles is a fault that changes nothing.
type idles struct{}

func (idles) Phase() chaos.Phase { return chaos.PhaseChange }
func (idles) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// chance matches with a probability, by the draws of the cell.
type chance float64

func (p chance) Match(c chaos.Call) bool { return c.Draw(0) < float64(p) }

// ordinal matches the n-th call of a target, from 0.
type ordinal uint64

func (n ordinal) Match(c chaos.Call) bool { return c.Ordinal == uint64(n) }

// clock is a registry with one tool.
func clock(t testing.TB) chaos.ToolRegistry {
	t.Helper()
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
		return "noon", nil
	}))
	require.NoError(t, err)
	return tools
}

// tellsTime calls the clock once and says what it says.
func tellsTime(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	answer, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
	return "it is " + string(answer), err
}

// fresh makes worlds of one agent over the clock.
func fresh(t testing.TB, agent contract.Agent) func(context.Context) (*contract.World, error) {
	tools := clock(t)
	return func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: agent, Tools: tools}, nil
	}
}

// holds is an invariant that nothing breaks but an error of the agent.
func holds(id string, severity contract.Severity) contract.Invariant {
	return contract.Invariant{Name: id, Severity: severity, Check: func(context.Context, *contract.Observation) error { return nil }}
}

// contains wants a word in the answer.
func contains(id string, severity contract.Severity, word string) contract.Invariant {
	return brokenIf(id, severity, fmt.Errorf("no %q in the answer", word),
		func(o *contract.Observation) bool { return !strings.Contains(o.Response, word) })
}

// brokenIf is an invariant whose check returns the error for what is bad.
func brokenIf(id string, severity contract.Severity, err error, bad func(*contract.Observation) bool) contract.Invariant {
	return contract.Invariant{Name: id, Severity: severity, Check: func(_ context.Context, o *contract.Observation) error {
		if bad(o) {
			return err
		}
		return nil
	}}
}

// undecides is an invariant that decides nothing.
func undecides(severity contract.Severity) contract.Invariant {
	return brokenIf("unsure", severity, contract.ErrUndecided, func(*contract.Observation) bool { return true })
}

// asBaseline is an invariant that wants the answer of the calm run.
func asBaseline() contract.Invariant {
	return contract.Invariant{Name: "same", Severity: contract.High, Needs: contract.NeedBaseline,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Response != o.Baseline {
				return fmt.Errorf("%q is not %q", o.Response, o.Baseline)
			}
			return nil
		}}
}

// stormy is a scenario in which the clock fails.
func stormy() contract.Scenario {
	return contract.Scenario{Name: "stormy", Rules: []chaos.Rule{{Target: "clock", Fault: fails{}}}}
}

// matrix is a calm matrix of one invariant, to be changed by each test.
func matrix(t testing.TB, agent contract.Agent, change ...func(*contract.Matrix)) *contract.Matrix {
	m := &contract.Matrix{
		NewWorld:   fresh(t, agent),
		Prompts:    []string{"What time is it?"},
		Invariants: []contract.Invariant{holds("held", contract.High)},
		Scenarios:  []contract.Scenario{contract.Calm()},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

// run runs a matrix that is valid.
func run(t testing.TB, m *contract.Matrix, o *contract.RunOptions) *contract.Report {
	t.Helper()
	r, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// bubble runs cells in virtual time, as package contracttest does.
func bubble(t *testing.T) contract.Bubble {
	return func(run func()) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%v", v)
			}
		}()
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
}

// virtual are options that run everything in bubbles.
func virtual(t *testing.T) *contract.RunOptions {
	return &contract.RunOptions{Harness: contract.Harness{
		Calm:   bubble(t),
		Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(bubble(t)) },
	}}
}

// states are the outcomes of the cells in order.
func states(r *contract.Report) []contract.CellState {
	var all []contract.CellState
	for _, c := range r.Cells {
		all = append(all, c.State)
	}
	return all
}
