package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// says is a goal: an answer with the word.
func says(name, word string, scenarios ...string) contract.Goal {
	return contract.Goal{Name: name, Scenarios: scenarios, Reached: func(o *contract.Observation) bool { return strings.Contains(o.Response, word) }}
}

func TestGoals(t *testing.T) {
	// Calm, the agent says that it is noon; in the storm it says nothing and fails.
	two := func(m *contract.Matrix) {
		m.Scenarios, m.Trials = append(m.Scenarios, stormy()), 2
		m.Invariants[0].JudgesErrors = true
		m.Invariants = append(m.Invariants, holds("calm-only", contract.Low))
		m.Invariants[1].Applies = contract.NoFault
	}
	for name, row := range map[string]struct {
		goals   []contract.Goal
		change  func(*contract.Matrix)
		verdict scoring.Verdict
		why     string
		want    []contract.GoalCount
	}{
		"reached in one scenario": {[]contract.Goal{says("noon", "noon")}, nil, scoring.Pass, "",
			[]contract.GoalCount{{Goal: "noon", Cells: 4, Of: 6}}},
		"not in the one that it names": {[]contract.Goal{says("noon", "noon", "stormy")}, nil, scoring.Inconclusive, `goal "noon" was reached in none of 2 runs`,
			[]contract.GoalCount{{Goal: "noon", Scenarios: []string{"stormy"}, Of: 2}}},
		"each on its own": {[]contract.Goal{says("midnight", "midnight"), says("noon", "noon"), says("dawn", "dawn")}, nil, scoring.Inconclusive,
			`goal "midnight" was reached in none of 6 runs; goal "dawn" was reached in none of 6 runs`,
			[]contract.GoalCount{{Goal: "midnight", Of: 6}, {Goal: "noon", Cells: 4, Of: 6}, {Goal: "dawn", Of: 6}}},
		"a run that several invariants judge counts once": {[]contract.Goal{says("noon", "noon")}, func(m *contract.Matrix) { m.ShareObservations = true }, scoring.Pass, "",
			[]contract.GoalCount{{Goal: "noon", Cells: 2, Of: 4}}},
		"a panic is a result of its own, though it was reached": {[]contract.Goal{says("noon", "noon"), {Name: "falls", Reached: func(o *contract.Observation) bool {
			if o.Err != nil {
				panic("no answer")
			}
			return true
		}}}, nil, scoring.Inconclusive, `goal "falls" failed: panic: no answer`,
			[]contract.GoalCount{{Goal: "noon", Cells: 4, Of: 6}, {Goal: "falls", Cells: 4, Of: 6, Failed: "panic: no answer"}}},
		"fail goes before": {[]contract.Goal{says("dawn", "dawn")}, func(m *contract.Matrix) {
			m.Invariants = append(m.Invariants, contains("broken", contract.Critical, "midnight"))
		}, scoring.Fail, "", []contract.GoalCount{{Goal: "dawn", Of: 10}}},
		"another reason comes first": {[]contract.Goal{says("dawn", "dawn")}, func(m *contract.Matrix) {
			m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
		}, scoring.Inconclusive, `; goal "dawn" was reached in none of 6 runs`, []contract.GoalCount{{Goal: "dawn", Of: 6}}},
	} {
		for _, workers := range []int{1, 8} {
			m := matrix(t, tellsTime, two, func(m *contract.Matrix) { m.Goals = row.goals })
			if row.change != nil {
				row.change(m)
			}
			r := run(t, m, &contract.RunOptions{Workers: workers})
			assert.Equal(t, row.want, r.Goals, name)
			assert.Equal(t, row.verdict, r.Score.Verdict, "%s: %s", name, r.Score.Why)
			assert.Contains(t, r.Score.Why, row.why, name)
		}
	}
}

// A goal that does not return is left behind, once.
func TestAGoalThatHangs(t *testing.T) {
	t.Parallel() // it waits for a watchdog
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	var asked atomic.Int32
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Trials = 3
		m.Goals = []contract.Goal{{Name: "hangs", Reached: func(*contract.Observation) bool {
			asked.Add(1)
			<-forever
			return true
		}}}
	})
	r := run(t, m, &contract.RunOptions{Workers: 1, Watchdog: 2 * time.Second})
	assert.Equal(t, []contract.GoalCount{{Goal: "hangs", Of: 1, Failed: "it did not return within 2s"}}, r.Goals)
	assert.EqualValues(t, 1, asked.Load())
}

// Goals are those of a whole matrix: neither a Runner nor a cell by itself asks them.
func TestGoalsAreAskedByMatricesAlone(t *testing.T) {
	var asked atomic.Int32
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Goals = []contract.Goal{{Name: "noon", Reached: func(*contract.Observation) bool { return asked.Add(1) > 0 }}}
	})
	cell := contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1}
	r, err := m.Runner(t.Context(), nil)
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Run(t.Context(), cell, nil)
	require.NoError(t, err)
	_, err = m.RunCell(t.Context(), cell, nil)
	require.NoError(t, err)
	assert.Zero(t, asked.Load())
	run(t, m, nil)
	assert.EqualValues(t, 1, asked.Load())
}

func TestGoalsAreNotJudgedOfAPart(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Scenarios = append(m.Scenarios, stormy())
		m.Invariants[0].JudgesErrors = true
		m.Goals = []contract.Goal{says("dawn", "dawn")}
	})
	o := &contract.RunOptions{}
	o.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
		if c.Scenario == "calm" {
			run(nil)
		}
	}
	r := run(t, m, o)
	assert.True(t, r.Partial(), r.Score.Why)
	ctx, cancel := context.WithCancel(t.Context())
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error {
		cancel()
		return nil
	}
	r, err := m.Run(ctx, &contract.RunOptions{Workers: 1})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "the run was cancelled", r.Score.Why)
}

func TestGoalsAreChecked(t *testing.T) {
	good := says("good", "x")
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Goals = []contract.Goal{good, good, {Name: "a b", Reached: good.Reached}, {Name: "empty"}, says("elsewhere", "x", "calm", "clam"),
			{Name: "made", Err: context.Canceled}}
	})
	err := m.Validate()
	for _, want := range []string{
		`Goals[1].Name is "good"; allowed: a name of its own: number 0 has this one`,
		`Goals[2].Name is "a b"; allowed: one or more letters, digits, '.', '_' and '-'`,
		`Goals[3].Reached is nil; allowed: a function`,
		`Goals[4].Scenarios[1] is "clam"; allowed: calm`,
		`Goals[5]`, `context canceled`,
	} {
		assert.ErrorContains(t, err, want)
	}
	var field *contract.FieldError
	require.ErrorAs(t, err, &field)
}

// Coverage counts the delivered faults by target, kind and try, and names the tools
// that none reached.
func TestCoverage(t *testing.T) {
	names := []string{"clock", "diary", "unused", "watched"}
	var points []chaos.ToolFunc
	for _, name := range names {
		points = append(points, chaos.Func(chaos.Tool{Name: name}, func(context.Context, struct{}) (string, error) { return "noon", nil }))
	}
	tools, err := chaos.NewRegistry(points...)
	require.NoError(t, err)
	m := matrix(t, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for _, name := range []string{"clock", "clock", "clock", "clock", "diary", "watched"} { // equal calls: each is a try of the first
			_, _ = tools.CallTool(ctx, name, json.RawMessage(`{}`))
		}
		return "done", nil
	}, func(m *contract.Matrix) {
		made := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := made(ctx)
			w.Tools = tools
			return w, err
		}
		m.Trials = 2
		m.Scenarios = append(m.Scenarios, stormy(), contract.Scenario{Name: "slow", Rules: []chaos.Rule{
			{Name: "slow", Target: "clock", Fault: delays{time.Nanosecond}}, {Name: "down", Target: "diary", Fault: fails{}},
			{Name: "idle", Target: "watched", Fault: idles{}}}})
	})
	r := run(t, m, virtual(t))
	fails, delays := "contract_test.fails", "contract_test.delays"
	want := []contract.CoverCount{
		{Target: "clock", Fault: delays, Try: 1, Delivered: 8}, // no call fails, so each is a first try
		{Target: "clock", Fault: fails, Try: 1, Delivered: 2}, {Target: "clock", Fault: fails, Try: 2, Delivered: 2},
		{Target: "clock", Fault: fails, Try: 3, Delivered: 4},
		{Target: "diary", Fault: fails, Try: 1, Delivered: 2},
		{Target: "unused", Uncalled: true}, {Target: "watched"},
	}
	assert.Equal(t, want, r.Coverage)
	m.Scenarios = m.Scenarios[:1]
	assert.Empty(t, run(t, m, nil).Coverage, "a matrix without faults covers nothing, and says nothing of it")
}

// What an agent answers when an injection point refused its call, because the world is set up
// in a way that cannot work, reaches no goal: its cell is inconclusive, whatever it says.
func TestGoalsOfRefusedRuns(t *testing.T) {
	refuses := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		_ = chaos.FromContext(ctx).Refuse(errors.New("no such wiring"))
		return "noon", nil
	}
	m := matrix(t, refuses, func(m *contract.Matrix) {
		m.Goals = []contract.Goal{{Name: "answers", Reached: func(o *contract.Observation) bool { return o.Response == "noon" }}}
	})
	assert.Equal(t, []contract.GoalCount{{Goal: "answers"}}, run(t, m, nil).Goals)
}
