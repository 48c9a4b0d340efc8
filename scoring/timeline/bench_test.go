package timeline_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// million is a run of 1,000 s with four tools and a retry now and then.
func million(n int) []timeline.Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	targets := []string{"search", "fetch", "llm.chat", "db.query"}
	samples := make([]timeline.Sample, n)
	gap := 1000 * time.Second / time.Duration(n)
	for i := range samples {
		start := time.Duration(i) * gap
		latency := time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond))
		samples[i] = timeline.Sample{
			Target: targets[i%len(targets)], Key: uint64(i % 97), Type: timeline.NodeTool,
			Start: start, End: min(start+latency, 1000*time.Second-1), Failed: i%50 == 0,
		}
	}
	return samples
}

func BenchmarkWindowFromScratch(b *testing.B) {
	samples := million(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		r, _ := timeline.NewRun(nil)
		if err := r.AddAll(samples); err != nil {
			b.Fatal(err)
		}
		if _, err := r.StateWindow(timeline.Query{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWindowAggregated(b *testing.B) {
	r, _ := timeline.NewRun(nil)
	if err := r.AddAll(million(1_000_000)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.StateWindow(timeline.Query{Nodes: []string{"search"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddParallel(b *testing.B) {
	r, _ := timeline.NewRun(nil)
	s := timeline.Sample{Target: "search", Start: time.Second, End: time.Second + 20*time.Millisecond}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := r.Add(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
