package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func runner(t testing.TB, m *contract.Matrix, o *contract.RunOptions) *contract.Runner {
	t.Helper()
	r, err := m.Runner(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// asksOften calls the clock five times and says what each call said.
func asksOften(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
	answer := prompt + ":"
	for i := range 5 {
		said, err := tools.CallTool(ctx, "clock", json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)))
		answer += fmt.Sprintf(" %s %v", said, err)
	}
	return answer, nil
}

// A run under a scenario's own rules is the run of its cells: the same calls meet the
// same faults, whichever invariant asks, and other rules move no draw.
func TestRunnerRunsAsTheMatrix(t *testing.T) {
	m := matrix(t, asksOften, func(m *contract.Matrix) {
		m.Seed, m.Trials, m.ShareObservations = 11, 4, true
		m.Prompts = []string{"a", "b", "c"}
		m.Invariants = []contract.Invariant{contains("all-noon", contract.High, "noon"), verdicts("no-b", map[string]error{"b": errors.New("it is b")})}
		m.Scenarios = []contract.Scenario{contract.Calm(), {Name: "flaky", Rules: []chaos.Rule{
			{Target: "clock", When: chance(.4), Fault: fails{}},
			{Target: "clock", When: chance(.4), Fault: idles{}}, // unnamed, so its draws depend on the name that the plan gives it
		}}}
	})
	whole := run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
	r := runner(t, m, &contract.RunOptions{Keep: contract.KeepAll})
	faults := 0
	for i := range whole.Cells {
		want := &whole.Cells[i]
		got, err := r.Run(t.Context(), want.Cell, r.Rules(want.Cell.Scenario))
		require.NoError(t, err)
		require.Len(t, got.Cells, 2, "both invariants have the prompts of the matrix")
		require.Len(t, got.Observations, 3, "all prompts are sent")
		for k, o := range got.Observations {
			assert.Equal(t, want.Observations()[k].Response, o.Response, "%v", want.Cell)
		}
		for _, c := range got.Cells {
			if c.Cell == want.Cell {
				assert.Equal(t, []any{want.State, want.Why, want.Violated, want.Delivered, want.Undelivered, want.Severity},
					[]any{c.State, c.Why, c.Violated, c.Delivered, c.Undelivered, c.Severity}, "%v", want.Cell)
				assert.Equal(t, want.Evidence.Response, c.Evidence.Response)
			}
		}
		faults += got.Cells[0].Delivered
	}
	assert.Positive(t, faults)
	none, err := r.Run(t.Context(), contract.Cell{Scenario: "flaky", Invariant: "no-b", Trial: 1}, r.Rules("flaky")[1:])
	require.NoError(t, err)
	assert.Equal(t, contract.Undelivered, none.Cells[0].State, "the rule that fails calls was left out")
}

// Applies plays no part, no scenario is needed, and any name and trial may be given.
func TestRunnerNeedsNoScenario(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Scenarios = nil
		m.Invariants = []contract.Invariant{contains("faults", contract.High, "noon"), holds("calm", contract.Low), holds("probed", contract.Low)}
		m.Invariants[0].Applies, m.Invariants[1].Applies = contract.LLMFaults, contract.NoFault
		m.Invariants[2].Probes = []string{"probe"}
	})
	require.Error(t, m.Validate())
	r := runner(t, m, nil)
	require.Len(t, r.Tools(), 1)
	assert.Empty(t, r.Rules("any"))
	got, err := r.Run(t.Context(), contract.Cell{Scenario: "any name", Invariant: "calm", Trial: 77}, stormy().Rules)
	require.NoError(t, err)
	assert.Equal(t, []contract.Cell{{Scenario: "any name", Invariant: "faults", Trial: 77}, {Scenario: "any name", Invariant: "calm", Trial: 77}},
		[]contract.Cell{got.Cells[0].Cell, got.Cells[1].Cell}, "not the one with probes")
	assert.Equal(t, contract.Broken, got.Cells[0].State)
	probed, err := r.Run(t.Context(), contract.Cell{Scenario: "s", Invariant: "probed", Trial: 1}, nil)
	require.NoError(t, err)
	require.Len(t, probed.Cells, 1)
	assert.Equal(t, "probe", probed.Observations[0].Prompt)
	assert.Equal(t, contract.Held, probed.Cells[0].State)
}

// A scenario of the matrix keeps what it has of its own.
func TestRunnerKeepsTheScenario(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "own", Prompts: []string{"mine"}, Layer: chaos.LayerTool,
			Rewrite: func(prompt string) string { return prompt + "!" },
			NewWorld: func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
					return "own " + prompt, nil
				}}, nil
			}})
	})
	r := runner(t, m, &contract.RunOptions{Gather: contract.NeedCalm})
	got, err := r.Run(t.Context(), contract.Cell{Scenario: "own", Invariant: "held", Trial: 1}, nil)
	require.NoError(t, err)
	assert.Equal(t, "own mine!", got.Observations[0].Response)
	require.NotNil(t, got.Observations[0].Calm)
	assert.Equal(t, "own mine", got.Observations[0].Calm.Response)
	assert.Equal(t, chaos.LayerTool, got.Cells[0].Layer)
	assert.Equal(t, contract.Held, got.Cells[0].State)
}

// Runs in the shared world take turns, each after a Reset, in real time.
func TestRunnerSharesAWorldInTurns(t *testing.T) {
	var inside, most, calls, resets atomic.Int32
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World = nil, &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			runtime.Gosched()
			return fmt.Sprint(calls.Add(1)), nil
		}}
		m.Invariants = []contract.Invariant{contains("first", contract.High, "1")}
	})
	_, err := m.Runner(t.Context(), nil)
	var field *contract.FieldError
	require.ErrorAs(t, err, &field)
	assert.Equal(t, "Reset", field.Field)
	assert.ErrorContains(t, err, "a run must not begin in the world that another run left")
	m.Reset = func(context.Context) error {
		resets.Add(1)
		calls.Store(0)
		return nil
	}
	r := runner(t, m, virtual(t))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			got, err := r.Run(t.Context(), contract.Cell{Scenario: "calm", Invariant: "first", Trial: 1}, nil)
			assert.NoError(t, err)
			assert.Equal(t, contract.Held, got.Cells[0].State, got.Cells[0].Why)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, most.Load())
	assert.EqualValues(t, 20, resets.Load())
}

// Runs with worlds of their own are made at once, in bubbles of one t: eight hours of
// virtual time each take none.
func TestRunnerRunsAtOnceInBubbles(t *testing.T) {
	m := matrix(t, tellsTime)
	r := runner(t, m, virtual(t))
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for trial := 1; trial <= 4; trial++ {
				got, err := r.Run(t.Context(), contract.Cell{Scenario: "slow", Invariant: "held", Trial: 4*i + trial},
					[]chaos.Rule{{Target: "clock", Fault: delays{8 * time.Hour}}})
				if assert.NoError(t, err) && assert.Equal(t, contract.Held, got.Cells[0].State, got.Cells[0].Why) {
					assert.Equal(t, 8*time.Hour, got.Cells[0].Elapsed)
				}
			}
		})
	}
	all.Wait()
}

// User code that misbehaves breaks its own run; the next run of the same Runner is as
// it would be.
func TestRunnerOutlivesUserCode(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	m := matrix(t, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		c, _ := contract.CellOf(ctx)
		switch c.Scenario {
		case "panics":
			panic("the agent fell over")
		case "ends":
			runtime.Goexit()
		case "hangs":
			<-ctx.Done()
			return "", ctx.Err()
		case "leaks":
			go func() { <-make(chan struct{}) }()
		case "ignores":
			<-forever
		}
		return "done", nil
	}, func(m *contract.Matrix) {
		m.Timeout = time.Minute
		made := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			if c, _ := contract.CellOf(ctx); c.Scenario == "no-world" {
				return nil, errors.New("no world today")
			}
			return made(ctx)
		}
		m.Invariants = append(m.Invariants, holds("check", contract.Low))
		m.Invariants[1].Check = func(_ context.Context, o *contract.Observation) error {
			if o.Cell.Scenario == "check" {
				panic("the check fell over")
			}
			return nil
		}
	})
	r := runner(t, m, virtual(t))
	for _, row := range []struct {
		scenario string
		state    contract.CellState
		why      string
	}{
		{"panics", contract.Broken, "the agent fell over"},
		{"ends", contract.Broken, "ended its goroutine"},
		{"hangs", contract.Broken, "deadline exceeded"},
		{"leaks", contract.Broken, "left goroutines behind"},
		{"no-world", contract.Inconclusive, "no world today"},
		{"check", contract.Inconclusive, "the check fell over"},
		{"sound", contract.Held, ""},
	} {
		got, err := r.Run(t.Context(), contract.Cell{Scenario: row.scenario, Invariant: "held", Trial: 1}, nil)
		require.NoError(t, err)
		assert.Equal(t, row.state, got.Cells[1].State, "%s: %s", row.scenario, got.Cells[1].Why)
		assert.Contains(t, got.Cells[1].Why, row.why)
	}
	quick := virtual(t)
	quick.Harness, quick.Watchdog = contract.Harness{}, 500*time.Millisecond // real time: the agent is left behind
	r = runner(t, m, quick)
	got, err := r.Run(t.Context(), contract.Cell{Scenario: "ignores", Invariant: "held", Trial: 1}, nil)
	require.NoError(t, err)
	assert.True(t, got.Cells[0].Abandoned)
	assert.NotEqual(t, contract.Held, got.Cells[0].State)
	got, err = r.Run(t.Context(), contract.Cell{Scenario: "sound", Invariant: "held", Trial: 1}, nil)
	require.NoError(t, err)
	assert.Equal(t, contract.Held, got.Cells[0].State)
}

// A context that ends cuts the wait for a turn and the run, and spoils no later run.
func TestRunnerCancelled(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var calm atomic.Int32
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World = nil, &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
			if c, _ := contract.CellOf(ctx); c.Scenario == "" && calm.Add(1) == 1 || c.Scenario == "waits" {
				began <- struct{}{}
				select {
				case <-goOn:
				case <-ctx.Done():
				}
			}
			return prompt, nil
		}}
		m.Reset = func(context.Context) error { return nil }
		m.Invariants[0].Needs = contract.NeedBaseline
	})
	r := runner(t, m, nil)
	cell := contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		got, err := r.Run(ctx, cell, nil)
		if assert.NotNil(t, got) {
			assert.Equal(t, contract.Inconclusive, got.Cells[0].State)
		}
		ended <- err
	}()
	<-began // the calm run
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	got, err := r.Run(t.Context(), cell, nil)
	require.NoError(t, err)
	require.Equal(t, contract.Held, got.Cells[0].State, "the calm run was made again: %s", got.Cells[0].Why)
	assert.EqualValues(t, 2, calm.Load())

	go func() {
		_, err := r.Run(t.Context(), contract.Cell{Scenario: "waits", Invariant: "held", Trial: 1}, nil)
		ended <- err
	}()
	<-began
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := r.Run(ctx, cell, nil)
		ended <- err
	}()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled, "it did not wait for its turn")
	close(goOn)
	require.NoError(t, <-ended)
	r.Close()
	_, err = r.Run(t.Context(), cell, nil)
	assert.ErrorContains(t, err, "closed")
	_, err = r.Run(ctx, cell, nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// After the end of its context a run sends no further prompt.
func TestRunnerCancelledBetweenPrompts(t *testing.T) {
	for name, o := range map[string]*contract.RunOptions{"real time": nil, "a bubble": virtual(t)} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		m := matrix(t, func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
			asked++
			cancel()
			return prompt, nil
		}, func(m *contract.Matrix) { m.Prompts = []string{"a", "b", "c"} })
		got, err := runner(t, m, o).Run(ctx, contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}, nil)
		require.ErrorIs(t, err, context.Canceled, name)
		assert.Equal(t, contract.Inconclusive, got.Cells[0].State, name)
		assert.Equal(t, 1, asked, name)
	}
}

// Bad input is named, all of it at once.
func TestRunnerRefuses(t *testing.T) {
	own := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Prompts, m.Scenarios[0].Prompts = nil, []string{"mine"}
		m.Scenarios[0].NewWorld, m.NewWorld = m.NewWorld, nil
	})
	strict := matrix(t, tellsTime, func(m *contract.Matrix) { m.StrictPoints, m.Prompts, m.Scenarios = true, nil, nil })
	for name, row := range map[string]struct {
		m      *contract.Matrix
		cell   contract.Cell
		rules  []chaos.Rule
		fields []string
	}{
		"all of it":     {own, contract.Cell{Scenario: "other", Invariant: "held"}, []chaos.Rule{{Target: "clock"}}, []string{"Cell.Scenario", "Cell.Trial", "rules: chaos: rule \"#0\": Fault"}},
		"no invariant":  {own, contract.Cell{Scenario: "calm", Invariant: "x", Trial: 1}, nil, []string{"Cell.Invariant"}},
		"no prompts":    {strict, contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}, nil, []string{"Prompts"}},
		"wrong targets": {strict, contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}, []chaos.Rule{{Target: "clack", Fault: fails{}}}, []string{"Prompts", "rules: chaos: rule \"clack:contract_test.fails\": Target"}},
	} {
		_, err := runner(t, row.m, nil).Run(t.Context(), row.cell, row.rules)
		require.Error(t, err, name)
		for _, f := range row.fields {
			assert.ErrorContains(t, err, f, name)
		}
	}
	_, err := (&contract.Matrix{}).Runner(t.Context(), nil)
	assert.ErrorContains(t, err, "NewWorld")
	var none *contract.Matrix
	_, err = none.Runner(t.Context(), nil)
	assert.Error(t, err)
}
