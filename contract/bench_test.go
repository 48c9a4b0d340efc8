package contract_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
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
