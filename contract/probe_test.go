package contract_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
			require.Len(t, r.Warnings, 1, tc.reason)
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
				m.Invariants[0].Needs = contract.NeedBaseline
				m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
					if o.Response != o.Baseline {
						return fmt.Errorf("%q is not %q", o.Response, o.Baseline)
					}
					return nil
				}
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

// TestErrorsOfTheFirstWorldCanBeMatched: what user code returned is in the chain.
func TestErrorsOfTheFirstWorldCanBeMatched(t *testing.T) {
	for _, tc := range []struct {
		reason string
		fresh  func(context.Context) (*contract.World, error)
		is     error
	}{
		{"its error", func(context.Context) (*contract.World, error) { return nil, errDown }, errDown},
		{"an error it panicked with", func(context.Context) (*contract.World, error) { panic(errDown) }, errDown},
		{"the end of its goroutine", func(context.Context) (*contract.World, error) { runtime.Goexit(); return nil, nil }, contract.ErrFailNow},
		{"the error of a listing", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: tellsTime, Tools: unlisted{}}, nil
		}, errDown},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": nil, "a bubble": virtual(t)} {
			t.Run(tc.reason+" in "+name, func(t *testing.T) {
				m := matrix(t, nil, func(m *contract.Matrix) { m.NewWorld = tc.fresh })
				_, err := m.Run(t.Context(), o)
				require.ErrorIs(t, err, tc.is)
				assert.ErrorContains(t, err, "contract: the first world: ")
				_, err = m.RunCell(t.Context(), m.Cells()[0], o)
				assert.ErrorIs(t, err, tc.is)
			})
		}
	}
	_, err := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) { panic("boom") }
	}).Run(t.Context(), nil)
	var p *contract.PanicError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "boom", p.Value)
}

// unlisted is a registry that does not list its tools.
type unlisted struct{ chaos.ToolRegistry }

func (unlisted) Tools(context.Context) ([]chaos.Tool, error) { return nil, errDown }
