package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/fleet"
	"github.com/shakedown-go/shakedown/contract/fleet/embedded"
)

// waiting is a matrix of one cell a unit, whose agent only waits, in real time.
func waiting(units int, answer time.Duration) *contract.Matrix {
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) {
		time.Sleep(answer)
		return "done", nil
	}
	return &contract.Matrix{Name: "waiting", Trials: units, Prompts: []string{"Wait."},
		NewWorld:  func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil },
		Scenarios: []contract.Scenario{contract.Calm()},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High,
			Check: func(context.Context, *contract.Observation) error { return nil }}},
	}
}

// spread runs a matrix by workers over a server in this process, and returns how long the units took from
// when the first was done, and the whole run.
func spread(b *testing.B, m *contract.Matrix, workers int) (units, all time.Duration) {
	b.Helper()
	server, err := embedded.Start(&embedded.Options{Dir: b.TempDir()})
	require.NoError(b, err)
	defer server.Close()
	connected := func() *nats.Conn {
		nc, err := nats.Connect(server.URL(), connecting...)
		require.NoError(b, err)
		return nc
	}
	ended := make(chan error, workers)
	for range workers {
		nc := connected()
		defer nc.Close()
		go func() {
			ended <- fleet.Work(b.Context(), nc, m, &fleet.Options{ID: "bench", Run: &contract.RunOptions{Workers: 1}})
		}()
	}
	nc := connected()
	defer nc.Close()
	var first, last time.Time
	o := &fleet.Options{ID: "bench", Run: &contract.RunOptions{File: filepath.Join(b.TempDir(), "a.run.jsonl")},
		OnProgress: func(p fleet.Progress) {
			if last = time.Now(); p.Done == 1 {
				first = last
			}
		}}
	begun := time.Now()
	r, err := fleet.Run(b.Context(), nc, m, o)
	all = time.Since(begun)
	require.NoError(b, err)
	require.Equal(b, m.Trials, r.Score.Passed)
	for range workers {
		err = errors.Join(err, <-ended)
	}
	require.NoError(b, err)
	return last.Sub(first), all
}

// BenchmarkUnit is what a unit costs whose agent does nothing: alone; with all that [contract.Matrix.RunUnit] prepares
// for one, which hashes the executable if the build has no name; and by a fleet, from its claim to its line in the file.
func BenchmarkUnit(b *testing.B) {
	m := waiting(1000, 0)
	b.Run("Units.Run", func(b *testing.B) {
		u, err := m.Units(b.Context(), nil)
		require.NoError(b, err)
		defer u.Close()
		for b.Loop() {
			if _, err := u.Run(b.Context(), "calm/7"); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, build := range []string{"", "v1"} {
		b.Run("RunUnit/build="+build, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.RunUnit(b.Context(), "calm/7", &contract.RunOptions{Build: build}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("fleet/workers=%d", workers), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				units, _ := spread(b, m, workers)
				took += units
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*(m.Trials-1)), "ns/unit")
		})
	}
}

// BenchmarkSpeedup is how many times as fast several workers are as one could be at best. Each has 10 units, and waits
// 300 ms in a unit, as for a model that is quick. Beginning and end of the run count.
func BenchmarkSpeedup(b *testing.B) {
	const each, answer = 10, 300 * time.Millisecond
	for _, workers := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			m := waiting(each*workers, answer)
			var took time.Duration
			for b.Loop() {
				_, all := spread(b, m, workers)
				took += all
			}
			ideal := time.Duration(b.N) * each * answer
			b.ReportMetric(float64(workers)*ideal.Seconds()/took.Seconds(), "x")
			b.ReportMetric(ideal.Seconds()/took.Seconds(), "of-ideal")
		})
	}
}
