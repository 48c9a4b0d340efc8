package contract_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// ledger is a shared world that an agent books in, in as many ways as a world
// can remember.
type ledger struct {
	Books []string
	asked int
}

// TestProbeComparesAnswersAndState: a world that answers alike and books twice
// remembers, as does one that shows it in the answer alone.
func TestProbeComparesAnswersAndState(t *testing.T) {
	const fixed = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. " +
		"Add reset_endpoint to your config for accurate isolation. "
	for _, tc := range []struct {
		reason string
		agent  func(*ledger) (string, error)
		state  func(*ledger) (any, error)
		want   string // what differed
	}{
		{"neither differs", func(*ledger) (string, error) { return "ok", nil }, books, ""},
		{"the answer alone", func(l *ledger) (string, error) { return fmt.Sprint(l.asked), nil }, books, "the answers"},
		{"the error alone", func(l *ledger) (string, error) { return "", fmt.Errorf("try %d", l.asked) }, books, "the answers"},
		{"the state alone", func(l *ledger) (string, error) { l.book(); return "refunded", nil }, books, "the states of the world"},
		{"both", func(l *ledger) (string, error) { l.book(); return fmt.Sprint(l.asked), nil }, books, "the answers and the states of the world"},
		{"a state that comes after the first time and stays", func(l *ledger) (string, error) {
			if len(l.Books) == 0 {
				l.book()
			}
			return "refunded", nil
		}, books, "the states of the world"},
		{"a state that comes with the second time", func(l *ledger) (string, error) {
			if l.asked == 2 {
				l.book()
			}
			return "refunded", nil
		}, books, "the states of the world"},
		{"a state that cannot be read is not compared", func(l *ledger) (string, error) { l.book(); return "ok", nil },
			func(*ledger) (any, error) { return nil, errors.New("no database") }, ""},
		{"there is no state to compare", func(l *ledger) (string, error) { l.book(); return "ok", nil }, nil, ""},
	} {
		for _, needs := range []contract.Needs{0, contract.NeedBaseline} { // with one the probe takes the calm run
			l := &ledger{}
			m := matrix(t, nil, func(m *contract.Matrix) {
				m.Invariants[0].Needs, m.Invariants[0].JudgesErrors = needs, true
				m.NewWorld, m.World = nil, &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
					l.asked++
					return tc.agent(l)
				}}
				if tc.state != nil {
					m.World.State = func(context.Context) (any, error) { return tc.state(l) }
				}
			})
			r := run(t, m, nil)
			assert.True(t, r.StateProbed)
			assert.Equal(t, 3, l.asked, "%s: twice, and once for the cell", tc.reason)
			if tc.want == "" {
				assert.Empty(t, r.Warnings, tc.reason)
				continue
			}
			require.NotEmpty(t, r.Warnings, tc.reason) // an agent that fails alone has another
			assert.Equal(t, fixed+"Here that is Matrix.Reset, or Matrix.NewWorld for a world per cell: "+
				"the first prompt was sent twice without faults, and "+tc.want+" differed.", r.Warnings[0], tc.reason)
		}
	}
}

func (l *ledger) book() { l.Books = append(l.Books, "refund") }

func books(l *ledger) (any, error) { return append([]string(nil), l.Books...), nil }

// TestRunCellIsTheCellOfRunInASharedWorld: the baseline is made before the cell
// whose fault changes the world for good.
func TestRunCellIsTheCellOfRunInASharedWorld(t *testing.T) {
	for _, share := range []bool{false, true} {
		degrading := func() *contract.Matrix {
			degraded := false
			return matrix(t, nil, func(m *contract.Matrix) {
				m.ShareObservations, m.NewWorld, m.SkipStateProbe = share, nil, true
				m.Scenarios = []contract.Scenario{stormy()}
				m.World = &contract.World{Tools: clock(t), Agent: func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
					_, err := tellsTime(ctx, p, tools)
					if degraded = degraded || err != nil; degraded {
						return "out of order", nil
					}
					return "at your service", nil
				}}
				m.Invariants = []contract.Invariant{asBaseline()}
			})
		}
		whole := run(t, degrading(), nil).Cells[0]
		alone, err := degrading().RunCell(t.Context(), whole.Cell, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Broken, whole.State)
		assert.Equal(t, `"out of order" is not "at your service"`, whole.Why)
		assert.Equal(t, plain(t, whole), plain(t, alone))
	}
}

// TestCancelledProbeSaysNothing: a prompt that was cut short differs from one that was not.
func TestCancelledProbeSaysNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	r, err := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World = nil, &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
			if asked++; asked == 2 {
				cancel()
			}
			return prompt, ctx.Err()
		}}
	}).Run(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 2, asked)
	assert.Empty(t, r.Warnings)
	assert.False(t, r.StateProbed)
}

// countedWorlds makes worlds whose state is the number of prompts that their agent answered.
func countedWorlds(t testing.TB, agent contract.Agent) func(context.Context) (*contract.World, error) {
	tools := clock(t)
	return func(context.Context) (*contract.World, error) {
		var n atomic.Int64
		return &contract.World{
			Tools: tools,
			Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				n.Add(1)
				return agent(ctx, prompt, tools)
			},
			State: func(context.Context) (any, error) { return n.Load(), nil },
		}, nil
	}
}

// TestNeedCalm: the check sees what the agent did without faults, prompt by prompt.
func TestNeedCalm(t *testing.T) {
	var seen []string
	twin := sees(&seen, "twin", func(o *contract.Observation) string {
		c := o.Calm
		return fmt.Sprintf("%s %q %q, %d calls %v, state %v to %v, args %s", c.Prompt, o.Response, c.Response,
			len(c.Events), c.Events[0].Delivered, c.Before, c.After, string(c.Events[0].Args))
	})
	twin.Needs, twin.JudgesErrors = contract.NeedCalm, true
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Prompts, m.Invariants = countedWorlds(t, tellsTime), []string{"a", "b"}, []contract.Invariant{twin}
		m.Scenarios, m.Trials = []contract.Scenario{stormy()}, 2
	})
	r := run(t, m, &contract.RunOptions{Workers: 1, Keep: contract.KeepAll})
	want := []string{
		`stormy a "it is " "it is \"noon\"", 1 calls false, state 0 to 1, args `,
		`stormy b "it is " "it is \"noon\"", 1 calls false, state 1 to 2, args `,
	}
	assert.Equal(t, append(want, want...), seen)
	assert.Equal(t, 1, r.CalmRuns, "one for all trials")
	require.NotNil(t, r.Cells[0].Evidence.Calm)
	assert.Equal(t, "b", r.Cells[0].Evidence.Calm.Prompt)
	assert.Nil(t, r.Cells[0].Evidence.Before, "the cell itself did not need its state")

	seen, m.Invariants[0].Needs = nil, contract.NeedCalm|contract.NeedResults
	run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, want[0]+"{}", seen[0], "with results")

	m.Scenarios[0].Rewrite = func(s string) string { return s + "!" }
	seen = nil
	run(t, m, &contract.RunOptions{Workers: 1})
	assert.Contains(t, seen[0], "stormy a ", "the calm run has the original prompt")
}

// TestNeedCalmMissing: without a calm run there is no oracle.
func TestNeedCalmMissing(t *testing.T) {
	calmly := func(ctx context.Context) bool { c, _ := contract.CellOf(ctx); return c.Trial == 0 }
	for _, tc := range []struct {
		why   string
		agent contract.Agent
		state func(context.Context) (any, error)
		needs contract.Needs
		want  contract.CellState
		text  string
	}{
		{"the agent failed in it", func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			if calmly(ctx) {
				return "", errDown
			}
			return "noon", nil
		}, nil, contract.NeedCalm, contract.Inconclusive, "contract: undecided: no calm run: the agent failed in the calm run: the clock is down"},
		{"no state, and none is needed", idle, nil, contract.NeedCalm, contract.Held, ""},
		{"its state is missing", idle, func(ctx context.Context) (any, error) {
			if calmly(ctx) {
				return nil, errDown
			}
			return 1, nil
		}, contract.NeedCalm | contract.NeedState, contract.Inconclusive,
			"contract: undecided: no calm run: reading the state of the world: the clock is down"},
		{"its state is there", idle, func(context.Context) (any, error) { return 1, nil }, contract.NeedCalm | contract.NeedState, contract.Held, ""},
	} {
		inv := holds("twin", contract.High)
		inv.Needs = tc.needs
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Invariants = []contract.Invariant{inv}
			m.NewWorld = func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: tc.agent, State: tc.state}, nil
			}
		})
		r := run(t, m, nil)
		assert.Equal(t, tc.want, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)

		m.Invariants[0].Needs = 0
		r = run(t, m, &contract.RunOptions{Keep: contract.KeepAll, Gather: contract.NeedCalm | contract.NeedState | contract.NeedResults})
		assert.Equal(t, contract.Held, r.Cells[0].State, "%s: what is gathered is not needed", tc.why)
		assert.Equal(t, 1, r.CalmRuns, tc.why)
	}
}

// TestGather: observations have more than invariants need, and outcomes do not change.
func TestGather(t *testing.T) {
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Scenarios = countedWorlds(t, tellsTime), []contract.Scenario{contract.Calm(), stormy()}
		m.Invariants = append(m.Invariants, contains("noon", contract.High, "noon"))
	})
	plain := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
	for _, gather := range []contract.Needs{0, contract.NeedState, contract.NeedResults, contract.NeedCalm,
		contract.NeedState | contract.NeedResults | contract.NeedCalm} {
		o := &contract.RunOptions{Keep: contract.KeepAll, Gather: gather}
		r := run(t, m, o)
		assert.Equal(t, states(plain), states(r))
		for _, c := range r.Cells {
			alone, err := m.RunCell(t.Context(), c.Cell, o)
			require.NoError(t, err)
			for _, o := range []*contract.Observation{c.Evidence, alone.Evidence} {
				assert.Equal(t, gather.Has(contract.NeedState), o.After == int64(1), "%v %v", gather, c.Cell)
				assert.Equal(t, gather.Has(contract.NeedResults), len(o.Events[0].Args) > 0, "%v %v", gather, c.Cell)
				assert.Equal(t, gather.Has(contract.NeedCalm), o.Calm != nil, "%v %v", gather, c.Cell)
				if o.Calm != nil {
					assert.Equal(t, int64(1), o.Calm.After)
					assert.Equal(t, gather.Has(contract.NeedResults), len(o.Calm.Events[0].Result) > 0)
				}
			}
		}
	}
	_, err := m.Run(t.Context(), &contract.RunOptions{Gather: contract.NeedBaseline})
	field, ok := errors.AsType[*contract.FieldError](err)
	require.True(t, ok)
	assert.Equal(t, "RunOptions.Gather", field.Field)
}
