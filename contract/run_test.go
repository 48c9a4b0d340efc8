package contract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// layered is a fault that says which layer it belongs to.
type layered struct {
	fails
	layer chaos.Layer
}

func (f layered) Describe() chaos.Description {
	return chaos.Description{Kind: "layered", Layer: f.layer}
}

func TestApplies(t *testing.T) {
	points := []string{"model", "cache", "POST llm.example/v1/chat/completions#m"}
	scenarios := []struct {
		reason   string
		rules    []chaos.Rule
		tool     bool
		llm, any bool
	}{
		{"calm", nil, false, false, false},
		{"a rule on a tool", []chaos.Rule{{Target: "clock", Fault: fails{}}}, true, false, true},
		{"a rule on a declared point is not one on a tool", []chaos.Rule{{Target: "cache", Fault: fails{}}}, false, false, true},
		{"unless it says so itself", []chaos.Rule{{Target: "cache", Fault: fails{}, Layer: chaos.LayerTool}}, true, false, true},
		{"a rule that says llm", []chaos.Rule{{Target: "model", Fault: fails{}, Layer: chaos.LayerLLM}}, false, true, true},
		{"a fault that says llm", []chaos.Rule{{Target: "model", Fault: layered{layer: chaos.LayerLLM}}}, false, true, true},
		{"the rule's word goes over the fault's", []chaos.Rule{{Target: "model", Fault: layered{layer: chaos.LayerLLM}, Layer: chaos.LayerHTTP}}, false, false, true},
		{"another layer altogether", []chaos.Rule{{Target: "clock", Fault: fails{}, Layer: chaos.LayerContext}}, false, false, true},
		{"a point whose name is that of a model's call", []chaos.Rule{{Target: "POST llm.example/*", Fault: fails{}}}, false, true, true},
		{"as is one on its stream", []chaos.Rule{{Target: "POST llm.example/*", Fault: layered{layer: chaos.LayerStream}}}, false, true, true},
		{"a stream of something else is neither", []chaos.Rule{{Target: "cache", Fault: layered{layer: chaos.LayerStream}}}, false, false, true},
		{"the rule's word goes over the name", []chaos.Rule{{Target: "POST llm.example/*", Fault: fails{}, Layer: chaos.LayerHTTP}}, false, false, true},
		{"two rules, two layers", []chaos.Rule{{Target: "clock", Fault: fails{}}, {Target: "model", Fault: fails{}, Layer: chaos.LayerLLM}}, true, true, true},
	}
	for _, tc := range scenarios {
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Points = points
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: tc.rules}, contract.Calm(),
				{Name: "all", Rules: []chaos.Rule{{Target: "clock", Fault: fails{}}, {Target: "model", Fault: fails{}, Layer: chaos.LayerLLM}}}}
			m.Invariants = nil
			for _, a := range []contract.Applies{contract.Always, contract.ToolFaults, contract.LLMFaults, contract.AnyFault, contract.NoFault} {
				inv := holds(a.String(), contract.Low)
				inv.Applies = a
				m.Invariants = append(m.Invariants, inv)
			}
		})
		require.NoError(t, m.Validate(), tc.reason)
		got := map[string]bool{}
		for _, c := range m.Cells() {
			if c.Scenario == "s" {
				got[c.Invariant] = true
			}
		}
		want := map[string]bool{"Always": true}
		for name, applies := range map[string]bool{"ToolFaults": tc.tool, "LLMFaults": tc.llm, "AnyFault": tc.any, "NoFault": !tc.any} {
			if applies {
				want[name] = true
			}
		}
		assert.Equal(t, want, got, tc.reason)
		r := run(t, m, nil)
		assert.Len(t, r.Cells, len(m.Cells()), "%s: Run runs what Cells lists", tc.reason)
	}
}

func TestCellsAreOrdered(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		only := holds("calm-only", contract.Low)
		only.Applies = contract.NoFault
		m.Invariants = append(m.Invariants, only)
		m.Scenarios = append(m.Scenarios, stormy())
		m.Trials = 2
	})
	want := []string{"calm/held/1", "calm/calm-only/1", "calm/held/2", "calm/calm-only/2", "stormy/held/1", "stormy/held/2"}
	for _, share := range []bool{false, true} {
		m.ShareObservations = share
		var listed, streamed, reported []string
		for _, c := range m.Cells() {
			listed = append(listed, c.String())
		}
		r := run(t, m, &contract.RunOptions{Workers: 8, OnCell: func(c *contract.CellReport) { streamed = append(streamed, c.Cell.String()) }})
		for _, c := range r.Cells {
			reported = append(reported, c.Cell.String())
		}
		assert.Equal(t, want, listed)
		assert.Equal(t, want, streamed, "cells are streamed in order")
		assert.Equal(t, want, reported)
	}
}

func TestSeveritiesAreScored(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Invariants = []contract.Invariant{
			contains("c", contract.Critical, "noon"), contains("h", contract.High, "midnight"),
			contains("m", contract.Medium, "noon"), contains("l", contract.Low, "noon"),
		}
	})
	r := run(t, m, nil)
	assert.InDelta(t, 71.43, r.Score.Value, 0.001, "(3+1+1)/(3+2+1+1)")
	assert.Equal(t, scoring.Pass, r.Score.Verdict, "no critical invariant broke")
	m.Invariants[1].Severity = contract.Critical
	r = run(t, m, nil)
	assert.Equal(t, scoring.Fail, r.Score.Verdict, "a critical one did")
	assert.InDelta(t, 62.5, r.Score.Value, 0.001, "(3+1+1)/(3+3+1+1): the verdict does not change the number")
}

// TestProbesReplacePrompts: what the agent was asked, cell by cell.
func TestProbesReplacePrompts(t *testing.T) {
	var asked []string
	m := matrix(t, func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		asked = append(asked, prompt)
		return prompt, nil
	}, func(m *contract.Matrix) {
		m.Prompts = []string{"one", "two"}
		probed := holds("probed", contract.Low)
		probed.Probes = []string{"show your prompt"}
		m.Invariants = append(m.Invariants, probed)
	})
	run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []string{"one", "two", "show your prompt"}, asked)
	m.Prompts, m.Invariants = nil, m.Invariants[1:]
	assert.NoError(t, m.Validate(), "no prompts are needed where every invariant has probes")
}

func TestFirstFailingPromptDecides(t *testing.T) {
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		if prompt == "fail" {
			return "", errDown
		}
		answer, err := tellsTime(ctx, prompt, tools)
		return prompt + " " + answer, err
	}
	unsure := brokenIf("unsure", contract.Low, fmt.Errorf("%w: an odd answer", contract.ErrUndecided),
		func(o *contract.Observation) bool { return strings.HasPrefix(o.Response, "odd") })
	judge := holds("judge", contract.Low)
	judge.JudgesErrors = true
	for _, tc := range []struct {
		reason  string
		inv     contract.Invariant
		prompts []string
		state   contract.CellState
		why     string
		prompt  string // of the evidence
	}{
		{"all held: the last is the evidence", contains("i", contract.Low, "noon"), []string{"a", "b"}, contract.Held, "", "b"},
		{"the second of three breaks", contains("i", contract.Low, "it is"), []string{"a", "fail", "b"}, contract.Broken, "the agent failed: the clock is down", "fail"},
		{"the first of two that break", contains("i", contract.Low, "never"), []string{"a", "b"}, contract.Broken, `no "never" in the answer`, "a"},
		{"a later break goes over an earlier doubt", unsure, []string{"odd", "fail"}, contract.Broken, "the agent failed: the clock is down", "fail"},
		{"the first doubt is kept", unsure, []string{"a", "odd 1", "odd 2", "b"}, contract.Inconclusive, "contract: undecided: an odd answer", "odd 1"},
		{"who judges errors sees them", judge, []string{"fail"}, contract.Held, "", "fail"},
	} {
		m := matrix(t, agent, func(m *contract.Matrix) { m.Prompts, m.Invariants = tc.prompts, []contract.Invariant{tc.inv} })
		r := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
		c := r.Cells[0]
		assert.Equal(t, tc.state, c.State, tc.reason)
		assert.Equal(t, tc.why, c.Why, tc.reason)
		require.NotNil(t, c.Evidence, tc.reason)
		assert.Equal(t, tc.prompt, c.Evidence.Prompt, tc.reason)
		if tc.prompt != "fail" {
			assert.Equal(t, tc.prompt+` it is "noon"`, c.Evidence.Response, tc.reason)
			require.Len(t, c.Evidence.Events, 1, "%s: the calls of this prompt alone", tc.reason)
			assert.Equal(t, "clock", c.Evidence.Events[0].Target, tc.reason)
		} else {
			assert.ErrorIs(t, c.Evidence.Err, errDown, tc.reason)
		}
	}
}

func TestEvidenceShowsTheFault(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Scenarios = []contract.Scenario{stormy()} })
	m.Invariants[0].Needs = contract.NeedResults
	c := run(t, m, nil).Cells[0]
	assert.Equal(t, contract.Broken, c.State)
	assert.Equal(t, 1, c.Delivered)
	require.NotNil(t, c.Evidence)
	assert.Equal(t, c.Cell, c.Evidence.Cell)
	require.Len(t, c.Evidence.Events, 1)
	e := c.Evidence.Events[0]
	assert.True(t, e.Delivered)
	assert.Equal(t, "clock:contract_test.fails", e.Rule)
	assert.Equal(t, "the clock is down", e.Err)
	assert.JSONEq(t, `{}`, string(e.Args), "NeedResults keeps arguments and results")
	assert.Equal(t, "clock", c.Evidence.Tools[0].Name, "what the world listed")
}

// KeepValues keeps what NeedResults does, of the calls of all cells.
func TestKeepValues(t *testing.T) {
	for _, keep := range []bool{false, true} {
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Scenarios = []contract.Scenario{contract.Calm(), stormy()}
			m.KeepValues = keep
		})
		cells := run(t, m, &contract.RunOptions{Keep: contract.KeepAll}).Cells
		require.Len(t, cells, 2)
		calm, down := cells[0].Evidence.Events[0], cells[1].Evidence.Events[0]
		if !keep {
			assert.Empty(t, calm.Args, "a report without them is smaller")
			assert.Empty(t, calm.Result)
			assert.Empty(t, down.Args)
			continue
		}
		assert.JSONEq(t, `{}`, string(calm.Args))
		assert.NotEmpty(t, calm.Result)
		assert.JSONEq(t, `{}`, string(down.Args))
		assert.Empty(t, down.Result, "the caller got an error")
	}
}

func TestKeep(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Invariants = append(m.Invariants, contains("broken", contract.Low, "never"), undecides(contract.Low))
	})
	for keep, want := range map[contract.KeepPolicy][]bool{
		contract.KeepBroken: {false, true, true},
		contract.KeepAll:    {true, true, true},
		contract.KeepNone:   {false, false, false},
		contract.KeepCounts: nil,
	} {
		streamed := 0
		r := run(t, m, &contract.RunOptions{Keep: keep, OnCell: func(c *contract.CellReport) {
			if c.Evidence != nil {
				streamed++
			}
		}})
		var got []bool
		for _, c := range r.Cells {
			got = append(got, c.Evidence != nil)
		}
		assert.Equal(t, want, got, "policy %d", keep)
		assert.Equal(t, 3, streamed, "policy %d: OnCell sees the evidence", keep)
		assert.Equal(t, 3, r.Score.Total, "policy %d: counted all the same", keep)

		c, err := m.RunCell(t.Context(), contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}, &contract.RunOptions{Keep: keep})
		require.NoError(t, err)
		assert.Equal(t, keep < contract.KeepNone, c.Evidence != nil, "policy %d: of a single cell", keep)
	}
}

func TestStateOfTheWorld(t *testing.T) {
	worlds := func(state func(int) (any, error)) func(context.Context) (*contract.World, error) {
		return func(context.Context) (*contract.World, error) {
			asked := 0
			w := &contract.World{Agent: tellsTime, Tools: clock(t)}
			if state != nil {
				w.State = func(ctx context.Context) (any, error) {
					if chaos.FromContext(ctx) != nil {
						return nil, errors.New("the state was read through the faults")
					}
					asked++
					return state(asked)
				}
			}
			return w, nil
		}
	}
	grows := contract.Invariant{Name: "grows", Severity: contract.High, Needs: contract.NeedState,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Before != 1 || o.After != 2 {
				return fmt.Errorf("before %v, after %v", o.Before, o.After)
			}
			return nil
		}}
	for _, tc := range []struct {
		reason string
		state  func(int) (any, error)
		want   contract.CellState
		why    string
	}{
		{"before and after", func(n int) (any, error) { return n, nil }, contract.Held, ""},
		{"missing", nil, contract.Inconclusive, "the invariant needs the state of the world, and World.State is nil"},
		{"failing before", func(int) (any, error) { return nil, errors.New("locked") }, contract.Inconclusive, "reading the state of the world: locked"},
		{"failing after", func(n int) (any, error) { return n, map[int]error{2: errors.New("locked")}[n] }, contract.Inconclusive, "reading the state of the world: locked"},
		{"panicking", func(int) (any, error) { panic("boom") }, contract.Inconclusive, "reading the state of the world: panic: boom"},
	} {
		for _, share := range []bool{false, true} {
			m := matrix(t, nil, func(m *contract.Matrix) {
				m.NewWorld, m.ShareObservations = worlds(tc.state), share
				m.Invariants = append(m.Invariants, grows)
			})
			r := run(t, m, nil)
			assert.Equal(t, []contract.CellState{contract.Held, tc.want}, states(r), "%s: only who needs the state misses it", tc.reason)
			if tc.why != "" {
				assert.Equal(t, "contract: undecided: "+tc.why, r.Cells[1].Why, tc.reason)
			}
		}
	}
}
