package contract_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

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
