package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestBaseline(t *testing.T) {
	same := asBaseline()
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

// asked counts how often an agent got each prompt.
type asked struct {
	mu sync.Mutex
	by map[string]int
}

func (a *asked) agent(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	a.mu.Lock()
	a.by[prompt]++
	a.mu.Unlock()
	answer, err := tellsTime(ctx, prompt, tools)
	if err != nil {
		answer = "no clock"
	}
	return answer, nil
}

// A calmCase is one kind of matrix. What it costs is computed here, by what the
// documentation says, and not by the engine.
type calmCase struct {
	world       string   // fresh, reset, shared or unprobed
	prompts     []string // of the matrix
	baselines   []string // one invariant each: the prompts that it has, joined; empty: those of the matrix
	plain       int      // invariants without a baseline
	share       bool
	trials      int
	workers     int
	virtualTime bool
}

func (c calmCase) String() string {
	return fmt.Sprintf("%s world, prompts %v, baselines %q, plain %d, share %t, workers %d, virtual %t",
		c.world, c.prompts, c.baselines, c.plain, c.share, c.workers, c.virtualTime)
}

// matrix makes a matrix with a calm scenario and one with faults.
func (c calmCase) matrix(t *testing.T, a *asked) *contract.Matrix {
	return matrix(t, a.agent, func(m *contract.Matrix) {
		m.Prompts, m.Trials, m.ShareObservations, m.Invariants = c.prompts, c.trials, c.share, nil
		m.Scenarios = append(m.Scenarios, stormy())
		for i, probes := range c.baselines {
			inv := holds(fmt.Sprint("baseline-", i), contract.Low)
			inv.Needs = contract.NeedBaseline
			if probes != "" {
				inv.Probes = strings.Split(probes, " ")
			}
			m.Invariants = append(m.Invariants, inv)
		}
		for i := range c.plain {
			m.Invariants = append(m.Invariants, holds(fmt.Sprint("plain-", i), contract.Low))
		}
		if c.world == "fresh" {
			return
		}
		m.NewWorld, m.World = nil, &contract.World{Agent: a.agent, Tools: clock(t)}
		switch c.world {
		case "reset":
			m.Reset = func(context.Context) error { return nil }
		case "unprobed":
			m.SkipStateProbe = true
		}
	})
}

// wants is how often the agent gets each prompt, and how many runs are no cells.
func (c calmCase) wants() (by map[string]int, calmRuns int) {
	by = map[string]int{}
	send := func(prompts []string, times int) {
		for _, p := range prompts {
			by[p] += times
		}
	}
	lists := map[string]int{} // invariants by prompt list
	learned := map[string]bool{}
	for _, probes := range c.baselines {
		if probes == "" {
			probes = strings.Join(c.prompts, " ")
		}
		lists[probes]++
		learned[probes] = true
	}
	if c.plain > 0 {
		lists[strings.Join(c.prompts, " ")] += c.plain
	}
	for list, invariants := range lists {
		runs := 2 * c.trials * invariants
		if c.share {
			runs = 2 * c.trials
		}
		send(strings.Split(list, " "), runs)
	}
	for list := range learned {
		send(strings.Split(list, " "), 1)
		calmRuns++
	}
	if c.world == "shared" {
		times := 2
		if learned[strings.Join(c.prompts, " ")] {
			times = 1 // the calm run is the first of the two
		}
		send(c.prompts[:1], times)
		calmRuns += times
	}
	return by, calmRuns
}

func calmCases() (all []calmCase) {
	for _, world := range []string{"fresh", "reset", "shared", "unprobed"} {
		for _, prompts := range [][]string{{"a"}, {"a", "b"}} {
			for _, c := range []calmCase{
				{plain: 2},
				{plain: 1, baselines: []string{""}},
				{baselines: []string{"", "", ""}},
				{baselines: []string{"c d", "c d"}, plain: 1},
				{baselines: []string{"", "c d", "a"}},
				{baselines: []string{"c"}},
			} {
				for _, workers := range []int{1, 8} {
					for _, share := range []bool{false, true} {
						for _, virtualTime := range []bool{false, true} {
							if world != "fresh" && (workers > 1 || virtualTime) {
								continue // its cells run one at a time, in real time
							}
							c.world, c.prompts, c.workers, c.share, c.trials, c.virtualTime = world, prompts, workers, share, 3, virtualTime
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}

// TestCalmRunsAreMadeOnceAndCounted: once for each prompt list that needs a baseline,
// and besides as the state probe asks.
func TestCalmRunsAreMadeOnceAndCounted(t *testing.T) {
	for _, c := range calmCases() {
		a := &asked{by: map[string]int{}}
		o := &contract.RunOptions{}
		if c.virtualTime {
			o = virtual(t)
		}
		o.Workers = c.workers
		r := run(t, c.matrix(t, a), o)
		by, calmRuns := c.wants()
		require.Equal(t, by, a.by, "%v", c)
		require.Equal(t, calmRuns, r.CalmRuns, "%v", c)
		require.Equal(t, c.world == "shared", r.StateProbed, "%v", c)
	}
}

// TestCalmRunsOfFilteredCells: a fresh or reset world learns the baselines of the
// cells that run. A shared world learns all, before its first cell changes it.
func TestCalmRunsOfFilteredCells(t *testing.T) {
	for _, tc := range []struct {
		world, runs string // the invariant whose calm cell runs
		by          map[string]int
		calmRuns    int
	}{
		{"fresh", "plain-0", map[string]int{"a": 1, "b": 1}, 0},
		{"fresh", "baseline-0", map[string]int{"a": 2, "b": 2}, 1},
		{"fresh", "baseline-1", map[string]int{"c": 2}, 1},
		{"reset", "plain-0", map[string]int{"a": 1, "b": 1}, 0},
		{"reset", "baseline-1", map[string]int{"c": 2}, 1},
		{"unprobed", "plain-0", map[string]int{"a": 2, "b": 2, "c": 1}, 2},
		{"shared", "plain-0", map[string]int{"a": 3, "b": 2, "c": 1}, 3},
	} {
		c := calmCase{world: tc.world, prompts: []string{"a", "b"}, baselines: []string{"", "c"}, plain: 1, trials: 1}
		a := &asked{by: map[string]int{}}
		r := run(t, c.matrix(t, a), &contract.RunOptions{Harness: contract.Harness{
			Around: func(cell contract.Cell, run func(contract.Bubble) *contract.CellReport) {
				if cell.Scenario == "calm" && cell.Invariant == tc.runs {
					run(nil)
				}
			},
		}})
		assert.True(t, r.Filtered)
		assert.Equal(t, tc.by, a.by, "%s, %s", tc.world, tc.runs)
		assert.Equal(t, tc.calmRuns, r.CalmRuns, "%s, %s", tc.world, tc.runs)
	}
}

// TestCalmRunsOfRunCell: it learns the baseline of its invariant, and does not probe.
func TestCalmRunsOfRunCell(t *testing.T) {
	for _, world := range []string{"fresh", "reset", "shared", "unprobed"} {
		for invariant, by := range map[string]map[string]int{
			"plain-0":    {"a": 1, "b": 1},
			"baseline-0": {"a": 2, "b": 2},
			"baseline-1": {"c": 2},
		} {
			c := calmCase{world: world, prompts: []string{"a", "b"}, baselines: []string{"", "c"}, plain: 1, trials: 1}
			a := &asked{by: map[string]int{}}
			_, err := c.matrix(t, a).RunCell(t.Context(), contract.Cell{Scenario: "stormy", Invariant: invariant, Trial: 1}, nil)
			require.NoError(t, err)
			assert.Equal(t, by, a.by, "%s, %s", world, invariant)
		}
	}
}

// TestCalmRunThatIsLeftBehind: its agent may go on in the world of the cells.
func TestCalmRunThatIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.NewWorld, m.World = nil, &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				if c, _ := contract.CellOf(ctx); c.Trial == 0 {
					<-left
				}
				return "done", nil
			}}
			m.Reset = func(context.Context) error { return nil }
			m.Invariants = append(m.Invariants, holds("compares", contract.High))
			m.Invariants[1].Needs = contract.NeedBaseline
		})
		r := run(t, m, nil)
		assert.Equal(t, []contract.CellState{contract.Held, contract.Inconclusive}, states(r))
		assert.Equal(t, []string{"the agent of a calm run did not end and may still touch the shared world"}, r.Warnings)
		assert.Zero(t, r.Abandoned, "which counts cells")
		close(left)
	})
}
