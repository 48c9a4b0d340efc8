package contract_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// verdicts is an invariant that says of each prompt what the map has for it.
func verdicts(id string, by map[string]error) contract.Invariant {
	inv := holds(id, contract.High)
	inv.Check = func(_ context.Context, o *contract.Observation) error { return by[o.Prompt] }
	return inv
}

// TestPromptsAfterABrokenOneAreNotSent: they cost money and decide nothing more.
func TestPromptsAfterABrokenOneAreNotSent(t *testing.T) {
	all := []string{"a", "b", "c"}
	undecided := fmt.Errorf("%w: who knows", contract.ErrUndecided)
	for _, tc := range []struct {
		reason   string
		verdicts map[string]error
		change   func(*contract.Matrix)
		asked    []string
		state    contract.CellState
		prompt   string // of the evidence
	}{
		{"all hold", nil, nil, all, contract.Held, "c"},
		{"the first breaks", map[string]error{"a": errDown}, nil, all[:1], contract.Broken, "a"},
		{"the second breaks", map[string]error{"b": errDown}, nil, all[:2], contract.Broken, "b"},
		{"the last breaks", map[string]error{"c": errDown}, nil, all, contract.Broken, "c"},
		{"what is undecided may yet break", map[string]error{"a": undecided, "b": errDown}, nil, all[:2], contract.Broken, "b"},
		{"or not", map[string]error{"a": undecided}, nil, all, contract.Inconclusive, "a"},
		{"all are asked on demand", map[string]error{"a": errDown}, func(m *contract.Matrix) { m.ShareObservations = true }, all, contract.Broken, "a"},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			o.Keep = contract.KeepAll
			var asked []string
			m := matrix(t, func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				asked = append(asked, prompt)
				return "", nil
			}, func(m *contract.Matrix) {
				m.Prompts, m.Invariants = all, []contract.Invariant{verdicts("told", tc.verdicts)}
				if tc.change != nil {
					tc.change(m)
				}
			})
			whole := run(t, m, o).Cells[0]
			assert.Equal(t, tc.asked, asked, "%s in %s", tc.reason, name)
			assert.Equal(t, tc.state, whole.State, tc.reason)
			assert.Equal(t, tc.prompt, whole.Evidence.Prompt, tc.reason)
			asked = nil
			alone, err := m.RunCell(t.Context(), whole.Cell, o)
			require.NoError(t, err)
			assert.Equal(t, tc.asked, asked, "RunCell, %s", tc.reason)
			assert.Equal(t, plain(t, whole), plain(t, alone), tc.reason)
		}
	}
}

// TestChecksBetweenPromptsAreOutsideOfTheBubble: they may do what they like, and
// the agent's clock stands still meanwhile.
func TestChecksBetweenPromptsAreOutsideOfTheBubble(t *testing.T) {
	judge := make(chan string) // made outside: a judge that the process shares
	go func() {
		for range judge {
		}
	}()
	defer close(judge)
	var times []time.Duration
	var start time.Time
	m := matrix(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		if start.IsZero() {
			start = time.Now()
		}
		times = append(times, time.Since(start))
		time.Sleep(time.Hour)
		return "", nil
	}, func(m *contract.Matrix) {
		m.Prompts = []string{"a", "b", "c"}
		m.Invariants[0].Check = func(ctx context.Context, o *contract.Observation) error {
			assert.NotEqual(t, 2000, time.Now().UTC().Year(), "the year of a bubble")
			assert.NoError(t, ctx.Err())
			judge <- o.Response
			return nil
		}
	})
	assert.Equal(t, contract.Held, run(t, m, virtual(t)).Cells[0].State)
	assert.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour}, times)
}

// TestChecksThatFailBetweenPromptsAreTheCellsResult, and end it.
func TestChecksThatFailBetweenPromptsAreTheCellsResult(t *testing.T) {
	t.Parallel() // it waits for watchdogs
	block := make(chan struct{})
	defer close(block)
	for _, tc := range []struct {
		reason    string
		check     func(ctx context.Context) error
		why       string
		abandoned bool
	}{
		{"a panic", func(context.Context) error { panic("boom") }, "the check of the invariant failed: panic: boom", false},
		{"a hang", func(context.Context) error { <-block; return nil },
			"the watchdog gave up after 500ms of real time, while the invariant was checking", true},
		{"one that ends with its context", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"the watchdog gave up after 500ms of real time, while the invariant was checking", false},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			asked := 0
			m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) {
				asked++
				return "", nil
			}, func(m *contract.Matrix) {
				m.Prompts = []string{"a", "b"}
				m.Invariants[0].Check = func(ctx context.Context, _ *contract.Observation) error { return tc.check(ctx) }
			})
			if tc.reason != "a panic" {
				o.Watchdog = 500 * time.Millisecond
			}
			c := run(t, m, o).Cells[0]
			assert.Equal(t, contract.Inconclusive, c.State, "%s in %s", tc.reason, name)
			assert.Equal(t, tc.why, c.Why, tc.reason)
			assert.Equal(t, tc.abandoned, c.Abandoned, tc.reason)
			assert.False(t, c.Undecided, "%s: it did not say so", tc.reason)
			assert.Equal(t, 1, asked, tc.reason)
		}
	}
}

// TestCheckThatEndsWithTheRunDecidesNothing: its error may be a consequence.
func TestCheckThatEndsWithTheRunDecidesNothing(t *testing.T) {
	for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
		for _, prompts := range [][]string{{"a"}, {"a", "b"}} { // after the cell, and between its prompts
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { asked++; return "", nil }, func(m *contract.Matrix) {
				m.Prompts = prompts
				m.Invariants[0].Check = func(ctx context.Context, _ *contract.Observation) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}
			})
			r, err := m.Run(ctx, o)
			require.ErrorIs(t, err, context.Canceled, name)
			assert.Equal(t, contract.Inconclusive, r.Cells[0].State, name)
			assert.Equal(t, 1, asked, name)
			cancel()
		}
	}
}

// TestDeliveriesOfABrokenCellEndWithTheBreak: a later fault cannot
// be the cause, whether or not the later prompts are sent.
func TestDeliveriesOfABrokenCellEndWithTheBreak(t *testing.T) {
	for _, tc := range []struct {
		reason    string
		breaks    string
		state     contract.CellState
		delivered int
	}{
		{"under the fault", "b", contract.Broken, 1},
		{"before the fault", "a", contract.Undelivered, 0},
		{"after it", "c", contract.Broken, 1},
		{"not at all", "", contract.Held, 1},
	} {
		for _, askAll := range []bool{false, true} {
			m := matrix(t, func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				_, _ = tellsTime(ctx, prompt, tools)
				return prompt, nil
			}, func(m *contract.Matrix) {
				m.ShareObservations, m.Prompts = askAll, []string{"a", "b", "c"}
				m.Scenarios = []contract.Scenario{{Name: "second", Rules: []chaos.Rule{{Target: "clock", When: ordinal(1), Fault: fails{}}}}}
				m.Invariants = []contract.Invariant{verdicts("told", map[string]error{tc.breaks: errDown})}
			})
			c := run(t, m, nil).Cells[0]
			assert.Equal(t, tc.state, c.State, tc.reason)
			assert.Equal(t, tc.breaks != "", c.Violated, tc.reason)
			assert.Equal(t, tc.delivered, c.Delivered, tc.reason)
		}
	}
}

// TestUndecidedCellsAreCounted apart from those that are inconclusive for
// another reason: only an ErrUndecided of the check itself counts.
func TestUndecidedCellsAreCounted(t *testing.T) {
	undecided := fmt.Errorf("%w: the answer is in prose; a judge would decide it", contract.ErrUndecided)
	shrugs := verdicts("shrugs", map[string]error{"p": undecided})
	needy := holds("needy", contract.Low)
	needy.Needs = contract.NeedState
	panics := holds("panics", contract.Low)
	panics.Check = func(context.Context, *contract.Observation) error { panic("boom") }
	breaks := verdicts("breaks", map[string]error{"p": errors.Join(errDown)})
	for _, keep := range []contract.KeepPolicy{contract.KeepBroken, contract.KeepCounts} {
		var mu sync.Mutex
		var told []string
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Prompts, m.Trials = []string{"p"}, 2
			m.Invariants = append(m.Invariants, shrugs, needy, panics, breaks)
		})
		r := run(t, m, &contract.RunOptions{Keep: keep, OnCell: func(c *contract.CellReport) {
			mu.Lock()
			defer mu.Unlock()
			if c.Undecided {
				told = append(told, c.Cell.String()+" "+c.Why)
			}
		}})
		slices.Sort(told)
		assert.Equal(t, []string{"calm/shrugs/1 " + undecided.Error(), "calm/shrugs/2 " + undecided.Error()}, told)
		assert.Equal(t, 2, r.Undecided)
		assert.Equal(t, 6, r.Score.Inconclusive, "with those that lack the state, and those that failed")
	}
}
