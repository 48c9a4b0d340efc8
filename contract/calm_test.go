package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestBaseline(t *testing.T) {
	same := contract.Invariant{Name: "same", Severity: contract.High, Needs: contract.NeedBaseline,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Response != o.Baseline {
				return fmt.Errorf("%q is not %q", o.Response, o.Baseline)
			}
			return nil
		}}
	given := same
	given.Baseline = `it is "noon"`
	auto := same
	auto.Baseline = "auto"
	other := same
	other.Baseline = "it is late"
	honest := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if prompt == "silence" {
			return "", errors.New("nothing to say")
		}
		answer, err := tellsTime(ctx, prompt, tools)
		if err != nil {
			answer = "no clock"
		}
		return answer, nil
	}
	sulky := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		if _, err := tellsTime(ctx, "", tools); err == nil {
			return "", errors.New("no faults, no answer")
		}
		return "fine", nil
	}
	for _, tc := range []struct {
		reason  string
		inv     contract.Invariant
		agent   contract.Agent
		prompts []string
		want    []contract.CellState // calm, stormy
		why     string               // of the last
	}{
		{"one calm run stands for all", same, honest, []string{"a", "b"}, []contract.CellState{contract.Held, contract.Broken}, `"no clock" is not "it is \"noon\""`},
		{"auto is the same", auto, honest, []string{"a"}, []contract.CellState{contract.Held, contract.Broken}, `"no clock" is not "it is \"noon\""`},
		{"a given one needs no run", given, honest, []string{"a"}, []contract.CellState{contract.Held, contract.Broken}, `"no clock" is not "it is \"noon\""`},
		{"a given one is the text", other, honest, []string{"a"}, []contract.CellState{contract.Broken, contract.Broken}, `"no clock" is not "it is late"`},
		{"no calm answer, no pass", same, sulky, []string{"a"}, []contract.CellState{contract.Broken, contract.Inconclusive},
			"contract: undecided: no baseline: the agent failed in the calm run: no faults, no answer"},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": nil, "bubbles": virtual(t)} {
			m := matrix(t, tc.agent, func(m *contract.Matrix) {
				m.Prompts, m.Invariants = tc.prompts, []contract.Invariant{tc.inv}
				m.Scenarios = append(m.Scenarios, stormy())
			})
			r := run(t, m, o)
			assert.Equal(t, tc.want, states(r), "%s in %s", tc.reason, name)
			assert.Equal(t, tc.why, r.Cells[1].Why, tc.reason)
			require.NotNil(t, r.Cells[1].Evidence, tc.reason)
		}
	}
}

func TestBaselineThatCouldNotBeHad(t *testing.T) {
	calls := 0
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Invariants[0].Needs = contract.NeedBaseline
		m.NewWorld = func(context.Context) (*contract.World, error) {
			if calls++; calls == 2 { // the first world, the calm run, the cell
				return nil, errors.New("no disk")
			}
			return &contract.World{Agent: tellsTime, Tools: clock(t)}, nil
		}
	})
	r := run(t, m, &contract.RunOptions{Workers: 1})
	assert.Zero(t, r.CalmRuns, "a run that did not reach the agent costs nothing")
	c := r.Cells[0]
	assert.Equal(t, contract.Inconclusive, c.State, "never a pass")
	assert.Equal(t, "contract: undecided: no baseline: making the world: no disk", c.Why)
}

// remembering is a shared world whose agent counts how often it was asked.
func remembering(t *testing.T, forgets bool) *contract.World {
	asked := 0
	return &contract.World{Tools: clock(t), Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
		if asked++; forgets {
			return " the same\n"[asked%2:], nil // white space around it does not matter
		}
		return fmt.Sprintf("time %d", asked), nil
	}}
}

const warning = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
	"Add reset_endpoint to your config for accurate isolation. Here that is Matrix.Reset, or Matrix.NewWorld for a world per cell: " +
	"the first prompt was sent twice without faults, and the answers differed."

func TestStateProbe(t *testing.T) {
	for _, tc := range []struct {
		reason string
		change func(*contract.Matrix)
		probed bool
		warned bool
	}{
		{"a world that remembers", func(m *contract.Matrix) { m.World = remembering(t, false) }, true, true},
		{"one that forgets, but for white space", func(m *contract.Matrix) { m.World = remembering(t, true) }, true, false},
		{"with a reset", func(m *contract.Matrix) {
			m.World, m.Reset = remembering(t, false), func(context.Context) error { return nil }
		}, false, false},
		{"turned off", func(m *contract.Matrix) { m.World, m.SkipStateProbe = remembering(t, false), true }, false, false},
		{"a fresh world is a reset", func(m *contract.Matrix) { m.NewWorld = fresh(t, tellsTime) }, false, false},
	} {
		m := matrix(t, tellsTime, func(m *contract.Matrix) { m.NewWorld = nil }, tc.change)
		r := run(t, m, nil)
		assert.Equal(t, tc.probed, r.StateProbed, "%s: the report says whether the probe ran", tc.reason)
		assert.Len(t, r.Cells, 1, "%s: probes are no cells", tc.reason)
		assert.Equal(t, 1, r.Score.Total, tc.reason)
		if tc.warned {
			assert.Equal(t, []string{warning}, r.Warnings, tc.reason)
			assert.NotContains(t, warning, "\n")
		} else {
			assert.Empty(t, r.Warnings, tc.reason)
		}
	}
}

func TestProbeSendsTheFirstPromptTwiceWithoutFaults(t *testing.T) {
	var asked []string
	world := &contract.World{Tools: clock(t), Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		_, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
		asked = append(asked, fmt.Sprint(prompt, " ", err))
		return "", nil
	}}
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World, m.Prompts, m.Scenarios = nil, world, []string{"a", "b"}, []contract.Scenario{stormy()}
	})
	run(t, m, nil)
	assert.Equal(t, []string{"a <nil>", "a <nil>", "a the clock is down", "b the clock is down"}, asked)
}

func TestResetRunsBeforeEachCell(t *testing.T) {
	var log []string
	resets := 0
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Trials = nil, 3
		m.World = &contract.World{Tools: clock(t), Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			log = append(log, "asked")
			return "", nil
		}}
		m.Reset = func(context.Context) error {
			log = append(log, "reset")
			if resets++; resets == 2 {
				return errors.New("connection refused")
			}
			return nil
		}
	})
	r := run(t, m, &contract.RunOptions{Workers: 8})
	assert.Equal(t, []string{"reset", "asked", "reset", "reset", "asked"}, log, "one at a time, and not asked when the reset failed")
	assert.Equal(t, []contract.CellState{contract.Held, contract.Inconclusive, contract.Held}, states(r))
	assert.Equal(t, "resetting the world: connection refused", r.Cells[1].Why)
	assert.Equal(t, scoring.Inconclusive, r.Score.Verdict)
	m.AllowInconclusive = 1
	r = run(t, m, nil)
	assert.Equal(t, scoring.Pass, r.Score.Verdict, "all reset now")
}

// TestBaselineOfASharedWorldComesFirst: while nothing has happened to the world
// yet, neither a cell nor the probe, which takes the calm run for its first.
func TestBaselineOfASharedWorldComesFirst(t *testing.T) {
	reset := func(context.Context) error { return nil }
	for _, tc := range []struct {
		reason  string
		change  func(*contract.Matrix)
		prompts []string
		warned  bool
	}{
		{"with the probe", func(*contract.Matrix) {}, []string{"a", "b", "a", "a", "b"}, true},
		{"without it", func(m *contract.Matrix) { m.SkipStateProbe = true }, []string{"a", "b", "a", "b"}, false},
		{"with a reset", func(m *contract.Matrix) { m.Reset = reset }, []string{"a", "b", "a", "b"}, false},
		{"with prompts that no invariant has", func(m *contract.Matrix) {
			m.Prompts, m.Invariants[0].Probes = []string{"c"}, m.Prompts
		}, []string{"a", "b", "c", "c", "a", "b"}, true},
	} {
		var asked []string
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.NewWorld, m.Prompts = nil, []string{"a", "b"}
			m.Invariants[0].Needs = contract.NeedBaseline
			m.World = &contract.World{Agent: func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				asked = append(asked, prompt)
				return fmt.Sprint("answer ", len(asked)), nil
			}}
		}, tc.change)
		r := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
		assert.Equal(t, "answer 2", r.Cells[0].Evidence.Baseline, "%s: that of the last prompt", tc.reason)
		assert.Equal(t, tc.prompts, asked, tc.reason)
		assert.Equal(t, tc.warned, len(r.Warnings) == 1, tc.reason)
	}
}
