package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// world makes worlds with one tool, which the agent calls and quotes.
func world(tool string) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: tool}, func(context.Context, struct{}) (string, error) {
			return "from " + tool, nil
		}))
		return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			text, err := tools.CallTool(ctx, tool, json.RawMessage(`{}`))
			return string(text), err
		}}, err
	}
}

// outage is a scenario in worlds of its own, in which a tool fails.
func outage(name, tool string, worlds func(context.Context) (*contract.World, error)) contract.Scenario {
	s := contract.Under(name, chaos.Rule{Target: tool, Fault: fails{}})
	s.NewWorld = worlds
	return s
}

// TestOwnWorldsLaw: a scenario whose NewWorld or prompts are those of the matrix changes
// nothing in the report but the number of calm runs, of which each source of worlds has its own.
func TestOwnWorldsLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		own := rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(rt, "own")
		prompted := rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(rt, "prompted")
		baseline := rapid.Bool().Draw(rt, "baseline")
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Trials, m.Seed = rapid.IntRange(1, 4).Draw(rt, "trials"), rapid.Uint64().Draw(rt, "seed")
			m.ShareObservations = rapid.Bool().Draw(rt, "share")
			m.Prompts = []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(rt, "prompts")]
			often := contract.Under("often", chaos.Rule{Target: "clock", When: chance(.5), Fault: fails{}})
			m.Scenarios = []contract.Scenario{contract.Calm(), stormy(), often}
			same := holds("same", contract.Low)
			if baseline {
				same.Needs = contract.NeedBaseline
			}
			probing := contains("probing", contract.Critical, "noon")
			probing.Probes = []string{"c"}
			m.Invariants = append(m.Invariants, same, probing)
		})
		o := &contract.RunOptions{Workers: rapid.IntRange(1, 4).Draw(rt, "workers"), Keep: contract.KeepAll, Harness: virtual(t).Harness}
		text := func(m *contract.Matrix) string {
			r := run(t, m, o)
			if baseline { // else none may be made
				r.CalmRuns = 0
			}
			b, err := json.Marshal(r)
			require.NoError(t, err)
			return string(b)
		}
		want := text(m)
		cells := m.Cells()
		changed := *m
		changed.Scenarios = append([]contract.Scenario(nil), m.Scenarios...)
		all := true
		for i := range own {
			if all = all && own[i]; own[i] {
				changed.Scenarios[i].NewWorld = m.NewWorld
			}
			if prompted[i] {
				changed.Scenarios[i].Prompts = m.Prompts
			}
		}
		if all {
			changed.NewWorld = nil
		}
		assert.Equal(t, cells, changed.Cells())
		assert.Equal(t, want, text(&changed))
	})
}

// TestOwnTools: the rules of a scenario are checked against the tools of its own worlds,
// and invariants see these.
func TestOwnTools(t *testing.T) {
	var seen []string
	tools := holds("tools", contract.High)
	tools.JudgesErrors = true
	tools.Check = func(_ context.Context, o *contract.Observation) error {
		seen = append(seen, o.Cell.Scenario+" "+o.Tools[0].Name)
		return nil
	}
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Invariants, m.StrictPoints = nil, []contract.Invariant{tools}, true
		m.Scenarios = []contract.Scenario{outage("a", "alpha", world("alpha")), outage("b", "beta", world("beta"))}
	})
	r := run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []contract.CellState{contract.Held, contract.Held}, states(r))
	assert.Equal(t, []string{"a alpha", "b beta"}, seen)

	m.Scenarios[0].Rules[0].Target = "beta"
	_, err := m.Run(t.Context(), nil)
	field, ok := errors.AsType[*contract.FieldError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "Scenarios[0].Rules", field.Field, "the tool of the other scenario is not its own")
	_, err = m.RunCell(t.Context(), contract.Cell{Scenario: "b", Invariant: "tools", Trial: 1}, nil)
	assert.NoError(t, err, "a cell alone needs its own worlds only")

	m.StrictPoints = false
	r = run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []contract.CellState{contract.Undelivered, contract.Held}, states(r))
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], `Rule beta:contract_test.fails of scenario a: the target "beta" matches no tool, no declared point`,
		"that the other scenario calls it does not count")

	m.Invariants[0].Targets = []string{"alpha", "beta", "gamma"}
	r = run(t, m, &contract.RunOptions{Workers: 1})
	assert.Contains(t, r.Warnings, `Invariant tools looks for calls of "gamma", and no tool or declared point has such a name.`)
	assert.NotContains(t, fmt.Sprint(r.Warnings), `calls of "beta"`, "some world has it")
}

// TestOwnFirstWorlds: each scenario's first world is made before any agent is called.
func TestOwnFirstWorlds(t *testing.T) {
	bad := func(err error) func(context.Context) (*contract.World, error) {
		return func(context.Context) (*contract.World, error) { return nil, err }
	}
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Scenarios = []contract.Scenario{contract.Calm(), {Name: "one", NewWorld: bad(errDown)}, {Name: "two", NewWorld: bad(nil)}}
	})
	m.NewWorld = world("alpha")
	_, err := m.Run(t.Context(), nil)
	assert.EqualError(t, err, "contract: the first world of scenario one: making the world: the clock is down\n"+
		"contract: the first world of scenario two: making the world: it is nil")
	c, err := m.RunCell(t.Context(), m.Cells()[0], nil)
	require.NoError(t, err, "a cell alone makes no other scenario's world")
	assert.Equal(t, contract.Held, c.State)
	_, err = m.RunCell(t.Context(), m.Cells()[1], nil)
	assert.ErrorIs(t, err, errDown)
}

// TestOwnBaseline: the calm run of a scenario in worlds of its own is made there.
func TestOwnBaseline(t *testing.T) {
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Invariants, m.Trials = world("alpha"), []contract.Invariant{asBaseline()}, 3
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "own", NewWorld: world("beta")})
	})
	r := run(t, m, nil)
	assert.Equal(t, contract.Held, r.Cells[3].State, r.Cells[3].Why)
	assert.Equal(t, 6, r.Score.Passed)
	assert.Equal(t, 2, r.CalmRuns, "one for each source of worlds")
	for _, c := range m.Cells() {
		alone, err := m.RunCell(t.Context(), c, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Held, alone.State)
	}
}

// TestSharedWorldBesideFreshOnes: cells in the shared world run one at a time, in order
// and in real time; the others in parallel and in virtual time. The reports keep the
// order of the matrix.
func TestSharedWorldBesideFreshOnes(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for _, sharedFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(workers, sharedFirst), func(t *testing.T) {
				const trials = 300 // more than the window of two workers
				var now, most atomic.Int32
				var order []int
				shared := &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					if c, _ := contract.CellOf(ctx); c.Trial > 0 {
						order = append(order, c.Trial) // a race, if two ran at once
					}
					return fmt.Sprint(time.Now().Year() > 2000), nil
				}}
				fresh := contract.Scenario{Name: "fresh", NewWorld: func(context.Context) (*contract.World, error) {
					return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
						time.Sleep(time.Hour)
						return fmt.Sprint(time.Now().Year() == 2000), nil
					}}, nil
				}}
				m := matrix(t, nil, func(m *contract.Matrix) {
					m.NewWorld, m.World, m.Trials = nil, shared, trials
					m.Invariants[0] = contains("true", contract.High, "true")
					m.Invariants[0].Needs = contract.NeedBaseline
					m.Scenarios = []contract.Scenario{fresh, contract.Calm()}
					if sharedFirst {
						m.Scenarios = []contract.Scenario{contract.Calm(), fresh}
					}
				})
				var reported []contract.Cell
				var r *contract.Report
				t.Run("cells", func(t *testing.T) {
					r = contracttest.Run(t, m, &contracttest.Options{Workers: workers, KeepAll: true})
				})
				for _, c := range r.Cells {
					reported = append(reported, c.Cell)
				}
				assert.Equal(t, m.Cells(), reported)
				assert.Equal(t, 2*trials, r.Score.Passed)
				assert.Equal(t, int32(1), most.Load())
				assert.IsIncreasing(t, order)
				assert.Len(t, order, trials)
				assert.True(t, r.StateProbed, "of the shared world")
				assert.Equal(t, 3, r.CalmRuns, "a baseline for each source, and the second run of the probe")
				for _, c := range []contract.Cell{reported[0], reported[trials]} {
					alone := contracttest.RunCell(t, m, c, nil)
					assert.Equal(t, contract.Held, alone.State, "%v: %s", c, alone.Why)
				}
			})
		}
	}
}

// TestCancelledRunKeepsWhatRan: cells that ran are in the report, also behind cells that a
// cancelled run left out.
func TestCancelledRunKeepsWhatRan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	third := make(chan struct{})
	var asked atomic.Int64
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.Trials, m.NewWorld, m.SkipStateProbe = 3, nil, true
		m.World = &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			<-third
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}}
		own := fresh(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			if asked.Add(1) == 3 {
				close(third)
				<-ctx.Done()
			}
			return "done", nil
		})
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "own", NewWorld: own})
	})
	r, err := m.Run(ctx, &contract.RunOptions{Workers: 2})
	require.ErrorIs(t, err, context.Canceled)
	assert.ElementsMatch(t, []contract.CellState{contract.Inconclusive, contract.Held, contract.Held, contract.Inconclusive}, states(r))
}
