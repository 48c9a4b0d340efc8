package contract_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

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
