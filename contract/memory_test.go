package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

func idle(context.Context, string, chaos.ToolRegistry) (string, error) { return "done", nil }

// idleMatrix has an agent that does nothing, so that only the engine is measured.
func idleMatrix(b testing.TB, invariants, trials int) *contract.Matrix {
	return matrix(b, idle, func(m *contract.Matrix) {
		m.Trials, m.Invariants = trials, nil
		m.NewWorld = func(context.Context) (*contract.World, error) { return &contract.World{Agent: idle}, nil }
		for i := range invariants {
			m.Invariants = append(m.Invariants, holds(fmt.Sprint("holds-", i), contract.High))
		}
	})
}

// BenchmarkCell is the overhead of the engine per cell, by the number of
// invariants: the two must not differ.
func BenchmarkCell(b *testing.B) {
	for _, invariants := range []int{1, 200} {
		b.Run(fmt.Sprintf("invariants=%d", invariants), func(b *testing.B) {
			b.ReportAllocs()
			m := idleMatrix(b, invariants, max(1, b.N/invariants))
			r := run(b, m, &contract.RunOptions{Workers: 1, Keep: contract.KeepCounts})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(r.Score.Total), "ns/cell")
		})
	}
}

// BenchmarkMatrix is the time per cell of matrices that grow tenfold: it must
// not grow with them.
func BenchmarkMatrix(b *testing.B) {
	for _, cells := range []int{1_000, 10_000, 100_000} {
		for _, keep := range []contract.KeepPolicy{contract.KeepBroken, contract.KeepCounts} {
			b.Run(fmt.Sprintf("cells=%d/counts=%t", cells, keep == contract.KeepCounts), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run(b, idleMatrix(b, 1, cells), &contract.RunOptions{Keep: keep})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*cells), "ns/cell")
			})
		}
	}
}

// BenchmarkOwnWorlds is the time per cell of matrices in which each scenario has worlds
// of its own, as those of many replayed sessions have: it must not grow with them.
func BenchmarkOwnWorlds(b *testing.B) {
	for _, scenarios := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("scenarios=%d", scenarios), func(b *testing.B) {
			b.ReportAllocs()
			m := idleMatrix(b, 2, 1)
			m.Scenarios = nil
			for i := range scenarios {
				prompts := []string{fmt.Sprint("prompt ", i)}
				m.Scenarios = append(m.Scenarios,
					contract.Scenario{Name: fmt.Sprint("s-", i), NewWorld: m.NewWorld, Prompts: prompts, Baselines: prompts})
			}
			for b.Loop() {
				run(b, m, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*scenarios), "ns/cell")
		})
	}
}

// BenchmarkHours is one run of a thousand cells that each wait for an hour of
// virtual time, whatever -test.count is: testing.RunTests repeats its tests as
// often as the flag says.
func BenchmarkHours(b *testing.B) {
	m := matrix(b, tellsTime, func(m *contract.Matrix) {
		m.Trials = 1000
		m.Scenarios = []contract.Scenario{{Name: "slow", Rules: []chaos.Rule{{Target: "clock", Fault: delays{by: time.Hour}}}}}
	})
	for b.Loop() {
		ran := false
		// A bubble needs a *testing.T, which a benchmark does not have.
		testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hours", F: func(t *testing.T) {
			if ran {
				return
			}
			ran = true
			if r := contracttest.Run(t, m, nil); r.Score.Passed != 1000 {
				b.Errorf("passed %d", r.Score.Passed)
			}
		}}})
	}
}

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

// BenchmarkSequential is a sequential matrix of fields that hold beside the same matrix of fixed
// trials, per cell that ran.
func BenchmarkSequential(b *testing.B) {
	m := matrix(b, tellsTime, func(m *contract.Matrix) {
		m.Trials, m.Scenarios = 100, calmly("a", "b", "c", "d", "e")
		m.Invariants = []contract.Invariant{holds("i", contract.Low), holds("j", contract.Low), holds("k", contract.Low),
			asRate(holds("rate", contract.Low), .999)}
	})
	var fixed, sequentially time.Duration
	cells := 0
	for b.Loop() {
		start := time.Now()
		all := run(b, m, &contract.RunOptions{Workers: 2})
		between := time.Now()
		some := run(b, m, &contract.RunOptions{Workers: 2, Sequential: true})
		fixed, sequentially = fixed+between.Sub(start), sequentially+time.Since(between)
		require.Len(b, some.Cells, len(all.Cells))
		cells += len(all.Cells)
	}
	b.ReportMetric(float64(fixed.Nanoseconds())/float64(cells), "ns/fixed")
	b.ReportMetric(float64(sequentially.Nanoseconds())/float64(cells), "ns/sequential")
	b.ReportMetric(float64(sequentially)/float64(fixed), "ratio")
}

// BenchmarkBudget is the number of fields that a budget decides, beside as many trials of each.
func BenchmarkBudget(b *testing.B) {
	rates := map[string]float64{}
	var names []string
	for i, rate := range []float64{1, .99, .97, .95, .9, .85, .8, .7, .5, .2} {
		names = append(names, fmt.Sprint("s", i))
		rates[names[i]] = rate
	}
	m := matrix(b, answersNoon, func(m *contract.Matrix) {
		m.Scenarios, m.Invariants = calmly(names...), []contract.Invariant{drawn("p", contract.High, .95, rates)}
	})
	spent, equal, runs := 0, 0, 0
	for b.Loop() {
		m.Seed++
		m.Trials = 200
		r := run(b, m, &contract.RunOptions{Sequential: true, Budget: contract.Budget{Trials: 160}})
		spent += decided(r)
		m.Trials = 16
		equal += decided(run(b, m, nil))
		runs++
	}
	b.ReportMetric(float64(spent)/float64(runs), "fields/budget")
	b.ReportMetric(float64(equal)/float64(runs), "fields/equal")
}

func decided(r *contract.Report) (n int) {
	for _, f := range r.Fields {
		if f.Standing.Decision != stats.Open {
			n++
		}
	}
	return n
}

// BenchmarkJudge judges 100,000 cells again and writes their report.
func BenchmarkJudge(b *testing.B) {
	m := matrix(b, answersNoon, func(m *contract.Matrix) {
		m.Trials, m.Scenarios, m.Invariants = 1000, calmly("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), nil
		for i := range 10 {
			m.Invariants = append(m.Invariants, asRate(holds(fmt.Sprint("i", i), contract.Low), float64(i%2)*.95))
		}
	})
	r := run(b, m, nil)
	require.Len(b, r.Cells, 100_000)
	b.ResetTimer()
	for b.Loop() {
		if err := r.Judge(); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRunnerAllocatesAsACell: a run costs at most a tenth more than a cell, also one under
// triggers of its own, as those of a search.
func TestRunnerAllocatesAsACell(t *testing.T) {
	const trials = 200
	allocated := func(fn func()) float64 { return testing.AllocsPerRun(3, fn) }
	whole := func(trials int) float64 {
		m := runnerCells(t, trials)
		return allocated(func() { run(t, m, &contract.RunOptions{Workers: 1}) })
	}
	cell := (whole(trials+1) - whole(1)) / trials // without what a matrix costs once
	r := runner(t, runnerCells(t, trials), nil)
	for name, trigger := range map[string]chaos.When{"its own triggers": nil, "another trigger": when.Prob(.29)} {
		rules := r.Rules("flaky")
		if trigger != nil {
			rules[0].When = trigger
		}
		single := allocated(func() { runAgain(t, r, rules, trials) }) / trials
		t.Logf("%s: %.1f allocations a run, %.1f a cell", name, single, cell)
		assert.LessOrEqual(t, single, 1.1*cell, name)
	}
}

// TestAllocationsOfAnIdleCell: a cell whose agent does nothing makes 33 allocations, of which one is
// the test's world. The race detector adds some.
func TestAllocationsOfAnIdleCell(t *testing.T) {
	const trials = 500
	whole := func(trials int) float64 {
		m := idleMatrix(t, 1, trials)
		return testing.AllocsPerRun(3, func() { run(t, m, &contract.RunOptions{Workers: 1}) })
	}
	cell := (whole(trials+1) - whole(1)) / trials
	assert.LessOrEqual(t, cell, 32.5)
}

// runnerCells is a matrix of one scenario, whose faults are those of a catalogue.
func runnerCells(t testing.TB, trials int) *contract.Matrix {
	return matrix(t, asksOften, func(m *contract.Matrix) {
		m.Scenarios = []contract.Scenario{contract.Under("flaky",
			chaos.Rule{Name: "fails", Target: "clock", When: when.Prob(.3), Fault: fault.Fail(fault.ErrUnavailable)},
			chaos.Rule{Name: "lost", Target: "clock", When: when.Prob(.3), Fault: fault.LoseReplyAfter(0)})}
		m.Trials = trials
	})
}

// runAgain makes the run of each cell of runnerCells by itself.
func runAgain(t testing.TB, r *contract.Runner, rules []chaos.Rule, trials int) {
	for trial := range trials {
		_, err := r.Run(t.Context(), contract.Cell{Scenario: "flaky", Invariant: "held", Trial: trial + 1}, rules)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkRunner is a run of a Runner as a multiple of a cell of Matrix.Run: the same
// agent, prompt, invariant, faults and draws, with the same evidence, in real time on one
// worker. The two take turns in blocks, and the metric is the median of the ratios of
// neighbours, so other load on the machine cancels out.
func BenchmarkRunner(b *testing.B) {
	const block = 500
	m := runnerCells(b, block)
	r := runner(b, m, nil)
	rules := r.Rules("flaky")
	took := func(fn func()) float64 {
		start := time.Now()
		fn()
		return float64(time.Since(start).Nanoseconds()) / block
	}
	cells := func() float64 { return took(func() { run(b, m, &contract.RunOptions{Workers: 1}) }) }
	single := func() float64 { return took(func() { runAgain(b, r, rules, block) }) }
	var ratios, cell, alone []float64
	for b.Loop() {
		first, again, once, last := cells(), single(), single(), cells()
		ratios = append(ratios, again/first, once/last)
		cell, alone = append(cell, first, last), append(alone, again, once)
	}
	for unit, all := range map[string][]float64{"ns/cell": cell, "ns/run": alone, "ratio": ratios} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
}
