package contract_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestCounts(t *testing.T) {
	m := flakyMatrix(t, busy)
	full := run(t, m, nil)
	counted := run(t, m, &contract.RunOptions{Workers: 4, Keep: contract.KeepCounts})
	assert.Empty(t, counted.Cells)
	assert.Equal(t, plain(t, full.Counts), plain(t, counted.Counts))
	assert.Equal(t, plain(t, full.Score), plain(t, counted.Score), "the score needs no list of cells")

	total := 0
	for _, c := range full.Counts {
		assert.Positive(t, c.Count)
		total += c.Count
	}
	assert.Equal(t, len(full.Cells), total)
	score, err := scoring.Contract(full.Counts, nil)
	require.NoError(t, err)
	assert.Equal(t, full.Score, score, "the counts are what was scored")
	assert.Equal(t, "calm", full.Counts[0].Scenario, "in the order of the matrix")
}

// TestFastCellsWaitForASlowOne: reports are passed on in order, so a slow cell
// holds back those behind it, and only so many of them are run meanwhile.
func TestFastCellsWaitForASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, reported atomic.Int64
		release := make(chan struct{})
		m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) {
			if asked.Add(1) == 1 {
				<-release
			}
			return "", nil
		}, func(m *contract.Matrix) { m.Trials = 10_000 })
		done := make(chan *contract.Report)
		go func() {
			done <- run(t, m, &contract.RunOptions{Workers: 4, OnCell: func(*contract.CellReport) { reported.Add(1) }})
		}()
		synctest.Wait()
		// The first to ask need not be the first cell: those before it are done.
		assert.Less(t, reported.Load(), int64(4))
		assert.EqualValues(t, 4*64, asked.Load()-reported.Load())
		close(release)
		assert.Equal(t, 10_000, (<-done).Score.Passed)
	})
}

// TestMemoryDoesNotGrowWithCells compares what is in use in the middle of a
// run and near its end.
func TestMemoryDoesNotGrowWithCells(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many cells")
	}
	const trials, early = 20_000, 2_000
	var before, after runtime.MemStats
	cells := 0
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Trials = trials
		m.Scenarios = []contract.Scenario{{Name: "storm", Rules: []chaos.Rule{{Target: "clock", When: chance(0.5), Fault: fails{}}}}}
	})
	r := run(t, m, &contract.RunOptions{Keep: contract.KeepCounts, OnCell: func(*contract.CellReport) {
		switch cells++; cells {
		case early:
			runtime.GC()
			runtime.ReadMemStats(&before)
		case trials - early:
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}})
	assert.Equal(t, trials, r.Score.Total)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(trials-2*early)*16,
		"sixteen bytes a cell would already be too much")
}
