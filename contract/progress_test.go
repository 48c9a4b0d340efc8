package contract_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func TestProgressIsTold(t *testing.T) {
	var asked atomic.Int64
	m := &contract.Matrix{
		Prompts: []string{"when?"}, Trials: 10, Scenarios: []contract.Scenario{contract.Calm()},
		Invariants: []contract.Invariant{{Name: "odd", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
			if o.Cell.Trial%2 == 0 {
				return errDown
			}
			return nil
		}}},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
				asked.Add(1)
				return "noon", nil
			}}, nil
		},
	}
	var told []contract.Progress
	_, err := m.Run(t.Context(), &contract.RunOptions{OnProgress: func(p contract.Progress) { told = append(told, p) }})
	require.NoError(t, err)
	require.NotEmpty(t, told)
	last := told[len(told)-1]
	assert.Equal(t, 10, last.Done)
	assert.Equal(t, 10, last.Total)
	assert.Equal(t, map[contract.CellState]int{contract.Held: 5, contract.Broken: 5}, last.States)
	assert.Len(t, last.Broken, 5)
	assert.Positive(t, last.Rate())
	assert.Zero(t, last.Left)
	for i := 1; i < len(told); i++ {
		assert.GreaterOrEqual(t, told[i].Done, told[i-1].Done)
	}
	t.Run("of a shard, and of a run that goes on", func(t *testing.T) {
		path := t.TempDir() + "/a.run.jsonl"
		_, err := m.Run(t.Context(), &contract.RunOptions{File: path, Build: "1", Shard: contract.Shard{Index: 1, Count: 5}, OnProgress: func(p contract.Progress) { last = p }})
		require.NoError(t, err)
		assert.Equal(t, [3]int{2, 2, 0}, [3]int{last.Done, last.Total, last.Known})
		_, err = m.Run(t.Context(), &contract.RunOptions{Resume: path, Build: "1", OnProgress: func(p contract.Progress) { last = p }})
		require.NoError(t, err)
		assert.Equal(t, [3]int{10, 10, 2}, [3]int{last.Done, last.Total, last.Known}, "its rate does not count what it did not run")
	})
	t.Run("of a sequential run that ended early", func(t *testing.T) {
		_, err := m.Run(t.Context(), &contract.RunOptions{Sequential: true, OnProgress: func(p contract.Progress) { last = p }})
		require.NoError(t, err)
		assert.Less(t, last.Done, last.Total)
		assert.Zero(t, last.Left, "the run is over")
	})
	t.Run("a function that hangs is left to itself", func(t *testing.T) { // the race detector looks on
		t.Parallel() // it waits for a watchdog, which gives a busy machine time for the rest of the run
		hang := make(chan struct{})
		defer close(hang)
		r, err := m.Run(t.Context(), &contract.RunOptions{Watchdog: 2 * time.Second, OnProgress: func(contract.Progress) { <-hang }})
		require.NoError(t, err)
		assert.Contains(t, strings.Join(r.Warnings, "\n"), "OnProgress failed and was not called again")
	})
	t.Run("a function that fails is called no more, and the run is whole", func(t *testing.T) {
		calls := 0
		r, err := m.Run(t.Context(), &contract.RunOptions{OnProgress: func(contract.Progress) { calls++; panic("boom") }})
		require.NoError(t, err)
		assert.Equal(t, 1, calls)
		assert.Len(t, r.Cells, 10)
		assert.Contains(t, r.Warnings[0], "OnProgress failed and was not called again: panic: boom")
	})
}

func TestProgressAsALine(t *testing.T) {
	for want, p := range map[string]contract.Progress{
		"0 of 3 cells": {Total: 3},
		"1,200 of 3,000 cells: 1,190 held, 9 broken, 1 not run; 120 a second, 15s left; cost 1.25; broken: calm/one-refund/1, calm/one-refund/2": {
			Done: 1200, Total: 3000, States: map[contract.CellState]int{contract.Held: 1190, contract.Broken: 9, contract.NotRun: 1},
			Elapsed: 10 * time.Second, Left: 15 * time.Second, Cost: 1.25,
			Broken: []contract.Cell{{Scenario: "calm", Invariant: "one-refund", Trial: 1}, {Scenario: "calm", Invariant: "one-refund", Trial: 2}}},
		"25,000 of 25,000 cells; 12,500 a second; cost 1234567.25": {Done: 25000, Total: 25000, Elapsed: 2 * time.Second, Cost: 1234567.25},
		"2 of 2 cells: 2 held; 1 a second":                         {Done: 2, Total: 2, Known: 1, States: map[contract.CellState]int{contract.Held: 2}, Elapsed: time.Second},
	} {
		assert.Equal(t, want, p.String())
	}
}
