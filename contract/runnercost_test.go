package contract_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

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
	assert.LessOrEqual(t, cell, 36.)
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
