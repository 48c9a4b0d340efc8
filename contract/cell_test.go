package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
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

// A cell whose faults do not meet the premise of an invariant is in no count, as if Applies had
// left it out; a field of such cells is none. The run file says so too.
func TestCellsToWhichAnInvariantDoesNotApply(t *testing.T) {
	picky := contract.Invariant{Name: "picky", Severity: contract.Critical,
		Check: func(_ context.Context, o *contract.Observation) error {
			switch {
			case o.Cell.Scenario == "never", o.Cell.Scenario == "mixed" && o.Cell.Trial == 1:
				return fmt.Errorf("%w: its faults are others", contract.ErrDoesNotApply)
			case o.Cell.Scenario == "broken":
				return errors.New("it broke")
			}
			return nil
		}}
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "yes", nil }
	fine := contract.Invariant{Name: "fine", Severity: contract.Low,
		Check: func(context.Context, *contract.Observation) error { return nil }}
	run := func(scenarios ...string) *contract.Report {
		m := &contract.Matrix{Name: "premises", Prompts: []string{"?"}, Trials: 2, Invariants: []contract.Invariant{picky, fine},
			NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil }}
		for _, name := range scenarios {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: name})
		}
		file := filepath.Join(t.TempDir(), "run.jsonl")
		r, err := m.Run(t.Context(), &contract.RunOptions{File: file, Keep: contract.KeepAll})
		require.NoError(t, err)
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		again, err := report.Read(f, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Score, again.Score)
		assert.Equal(t, r.Counts, again.Counts)
		return r
	}
	r := run("never", "mixed")
	assert.Equal(t, scoring.Pass, r.Score.Verdict, r.Score.Why)
	assert.Equal(t, 5, r.Score.Decided, "four of fine, one of picky")
	assert.Zero(t, r.Score.NotRun)
	assert.False(t, r.Filtered)
	var fields []string
	for _, f := range r.Fields {
		fields = append(fields, f.Scenario+"/"+f.Invariant)
	}
	assert.Equal(t, []string{"never/fine", "mixed/picky", "mixed/fine"}, fields)
	assert.True(t, r.Cells[0].DoesNotApply)
	assert.Equal(t, "contract: the invariant does not apply: its faults are others", "contract: "+r.Cells[0].Why)
	require.NoError(t, r.Judge())
	assert.Equal(t, 5, r.Score.Decided, "judged again")

	assert.Equal(t, scoring.Fail, run("never", "broken").Score.Verdict)
}

func selectable() *contract.Matrix {
	holds := func(context.Context, *contract.Observation) error { return nil }
	return &contract.Matrix{
		Name: "m", Seed: 7, NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{}, nil }, Prompts: []string{"p"}, Trials: 2,
		Invariants: []contract.Invariant{
			{Name: "always", Severity: contract.High, Check: holds},
			{Name: "calm-only", Severity: contract.Low, Applies: contract.NoFault, Check: holds},
		},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "down", Rules: []chaos.Rule{{Name: "r", Target: "t", Fault: fault.Fail(fault.ErrUnavailable)}, {Target: "u", Fault: unnamed{}}}}},
	}
}

type unnamed struct{ chaos.Fault }

// A selection is the cells that fit every filter, of a copy of the matrix.
func TestASelection(t *testing.T) {
	m := selectable()
	seed := uint64(9)
	for _, tc := range []struct {
		s     contract.Selection
		cells int
	}{
		{contract.Selection{}, 6}, // always twice, calm-only once, in two trials
		{contract.Selection{Scenarios: []string{"down"}}, 2},
		{contract.Selection{Invariants: []string{"calm-only"}}, 2},
		{contract.Selection{Trial: 2}, 3},
		{contract.Selection{Trials: 5, Invariants: []string{"always"}, Scenarios: []string{"down"}}, 5},
		{contract.Selection{Trials: 5, Trial: 5, Seed: &seed}, 3},
	} {
		own, chosen, err := tc.s.Of(m)
		require.NoError(t, err)
		n := 0
		for _, c := range own.Cells() {
			if chosen(c) {
				n++
			}
		}
		assert.Equal(t, tc.cells, n, "%+v", tc.s)
		if tc.s.Seed != nil {
			assert.EqualValues(t, 9, own.Seed)
		}
	}
	assert.Equal(t, []any{2, uint64(7)}, []any{m.Trials, m.Seed}, "the matrix itself is left alone")

	_, _, err := contract.Selection{Trial: 3, Scenarios: []string{"down", "dwon"}, Invariants: []string{"x"}}.Of(m)
	for _, want := range []string{"contract: trial is 3; allowed: 1 to 2", `contract: scenarios[1] is "dwon"; allowed: calm, down; did you mean down?`,
		`contract: invariants[0] is "x"; allowed: always, calm-only`} {
		assert.ErrorContains(t, err, want)
	}
	_, _, err = contract.Selection{Invariants: []string{"calm-only"}, Scenarios: []string{"down"}}.Of(m)
	assert.ErrorIs(t, err, contract.ErrNothingSelected)
}

func TestTheOutlineOfAMatrix(t *testing.T) {
	o := selectable().Outline()
	assert.Equal(t, []any{"m", 6, 2, "7", true}, []any{o.Name, o.Cells, o.Trials, o.Seed, o.Parallel})
	assert.Equal(t, []contract.OutlineScenario{
		{Name: "calm", Rules: []contract.OutlineRule{}},
		{Name: "down", Rules: []contract.OutlineRule{{Name: "r", Target: "t", Fault: "error"}, {Target: "u", Fault: "contract_test.unnamed"}}},
	}, o.Scenarios)
	m := selectable()
	m.NewWorld = nil
	m.Scenarios[0].Layer, m.Scenarios[0].Prompts, m.Scenarios[0].NewWorld = chaos.LayerLLM, []string{"own"}, world("t")
	m.Scenarios[1].Rewrite = strings.ToUpper
	own := m.Outline()
	assert.False(t, own.Parallel, "the other scenario has no world of its own")
	assert.Equal(t, contract.OutlineScenario{Name: "calm", Rules: []contract.OutlineRule{}, Layer: "llm", Prompts: []string{"own"}, OwnWorld: true}, own.Scenarios[0])
	assert.True(t, own.Scenarios[1].Rewrites)
	m.Scenarios[1].NewWorld = world("t")
	assert.True(t, m.Outline().Parallel)
	assert.Equal(t, contract.OutlineInvariant{ID: "calm-only", Severity: contract.Low, Applies: "NoFault"}, o.Invariants[1])
}
