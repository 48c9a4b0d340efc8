package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// places notes which run each user function belonged to.
type places struct {
	mu  sync.Mutex
	of  map[string][]contract.CellContext
	bad []string
}

func (p *places) note(ctx context.Context, function string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := contract.CellOf(ctx)
	if !ok {
		p.bad = append(p.bad, function)
	}
	if !slices.Contains(p.of[function], c) {
		p.of[function] = append(p.of[function], c)
	}
}

// TestCellOf: every user function knows its run, in real time and in bubbles. Runs
// that are no cells have neither scenario nor trial.
func TestCellOf(t *testing.T) {
	none := contract.CellContext{Seed: 7}
	cells := []contract.CellContext{{Scenario: "calm", Trial: 1, Seed: 7}, {Scenario: "calm", Trial: 2, Seed: 7},
		{Scenario: "stormy", Trial: 1, Seed: 7}, {Scenario: "stormy", Trial: 2, Seed: 7}}
	for _, shared := range []bool{false, true} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			p := &places{of: map[string][]contract.CellContext{}}
			o.Workers = 1 // so that the runs come in the order of the matrix
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(ctx context.Context, _ struct{}) (string, error) {
				p.note(ctx, "tool")
				return "noon", nil
			}))
			require.NoError(t, err)
			world := &contract.World{Tools: tools,
				Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					p.note(ctx, "agent")
					_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
					return "done", nil
				},
				State: func(ctx context.Context) (any, error) {
					p.note(ctx, "state")
					return nil, nil
				}}
			m := matrix(t, nil, func(m *contract.Matrix) {
				m.Seed, m.Trials = 7, 2
				m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "stormy", Rules: []chaos.Rule{{Target: "clock", When: when.Nth(9), Fault: fails{}}}})
				m.Invariants[0].Needs = contract.NeedBaseline | contract.NeedState
				m.Invariants[0].Check = func(ctx context.Context, _ *contract.Observation) error {
					p.note(ctx, "check")
					return nil
				}
				m.Invariants = append(m.Invariants, holds("other", contract.Low))
				m.NewWorld = func(ctx context.Context) (*contract.World, error) {
					p.note(ctx, "world")
					return world, nil
				}
				if shared {
					m.NewWorld, m.World = nil, world
					m.Reset = func(ctx context.Context) error {
						p.note(ctx, "world")
						return nil
					}
				}
			})
			if shared && name == "bubbles" {
				continue
			}
			run(t, m, o)
			assert.Empty(t, p.bad)
			assert.Equal(t, cells, p.of["check"], "%s, shared %t", name, shared)
			assert.Equal(t, cells, p.of["state"], "the calm run does not need it")
			for _, function := range []string{"world", "agent", "tool"} {
				assert.Equal(t, append([]contract.CellContext{none}, cells...), p.of[function], "%s in %s, shared %t", function, name, shared)
			}
		}
	}
	_, ok := contract.CellOf(t.Context())
	assert.False(t, ok, "this context is of no matrix")
}

// TestBoundToTheCell: a function that drops its context meets the faults of its cell,
// if it was bound in NewWorld. Calls that make the world meet none, and are not
// counted. All calls after the cell's end are refused.
func TestBoundToTheCell(t *testing.T) {
	for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
		var closing error
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Points = []string{"ledger"}
			m.Scenarios = []contract.Scenario{contract.Calm(), {Name: "second", Rules: []chaos.Rule{{Target: "ledger", When: when.Nth(2), Fault: fails{}}}}}
			m.Invariants[0].JudgesErrors = true
			m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
				if want := o.Cell.Scenario == "second"; errors.Is(o.Err, errDown) != want || len(o.Events) != 2 {
					return errors.Join(errors.New("another outcome"), o.Err)
				}
				return nil
			}
			m.NewWorld = func(ctx context.Context) (*contract.World, error) {
				ledger := func(context.Context, int) (int, error) { return 0, nil }
				byContext := chaos.Wrap("ledger", ledger)
				bound := chaos.WrapWith("ledger", ledger, &chaos.WrapOptions[int]{Injector: chaos.FromContext(ctx)})
				for _, call := range []func(context.Context, int) (int, error){byContext, bound} {
					if _, err := call(ctx, 1); err != nil {
						return nil, err
					}
				}
				return &contract.World{
					Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
						_, first := bound(context.Background(), 1)
						_, second := bound(context.Background(), 2)
						return "done", errors.Join(first, second)
					},
					Close: func() error {
						_, closing = bound(context.Background(), 1)
						return nil
					},
				}, nil
			}
		})
		o.Workers = 1
		r := run(t, m, o)
		for _, c := range r.Cells {
			assert.Equal(t, contract.Held, c.State, "%s, %v: %s", name, c.Cell, c.Why)
		}
		assert.Equal(t, 1, r.Cells[1].Delivered, name)
		assert.ErrorIs(t, closing, chaos.ErrCellEnded, name)
	}
}
