package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func manyTasks() []Tally {
	tasks := make([]Tally, 1_000_000)
	for i := range tasks {
		tasks[i] = Tally{Passed: i * 7919 % 21, Trials: 20}
	}
	return tasks
}

func BenchmarkPassEvery(b *testing.B) {
	tasks := manyTasks()
	for b.Loop() {
		if _, err := PassEvery(tasks, 5, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

var usual = SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 1000}

func BenchmarkDecide(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := usual.Decide(17, 18); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLaw(b *testing.B) {
	for b.Loop() {
		if _, err := usual.Law(0.9); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrials(b *testing.B) {
	for b.Loop() {
		for _, d := range []Design{{}, {Paired: true}, {Paired: true, Noise: 0.1}, {TwoSamples: true}} {
			if _, err := Trials(d, 0.95, 0.85, 0.05, 0.8); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkAnyTime(b *testing.B) {
	for b.Loop() {
		if _, err := AnyTime(141, 142, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecideTakesNoMemory(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = usual.Decide(17, 18) }))
}
