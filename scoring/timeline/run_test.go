package timeline_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestRunOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		options timeline.RunOptions
		want    string
	}{
		{timeline.RunOptions{BinSize: -time.Second}, "timeline: binSize is -1s; allowed: a positive whole number of milliseconds"},
		{timeline.RunOptions{BinSize: 1500 * time.Microsecond}, "timeline: binSize is 1.5ms; allowed: a positive whole number of milliseconds"},
		{timeline.RunOptions{MaxBins: 1}, "timeline: maxBins is 1; allowed: 2 to 1048576"},
		{timeline.RunOptions{MaxSeries: -1}, "timeline: maxSeries is -1; allowed: 0 or more"},
	} {
		_, err := timeline.NewRun(&tt.options)
		assert.EqualError(t, err, tt.want)
	}
	r, err := timeline.NewRun(nil)
	require.NoError(t, err)
	assert.Equal(t, time.Second, r.BinSize())
	assert.Equal(t, time.Unix(0, 0).UTC(), r.Epoch())
}

// A run that outgrows its bins doubles them; what was counted stays counted.
func TestBinsWidenByDoubling(t *testing.T) {
	r := newRun(t, &timeline.RunOptions{BinSize: ms, MaxBins: 10})
	for n := range 10 {
		require.NoError(t, r.Add(call("a", time.Duration(n*n)*100*ms)))
	}
	assert.Equal(t, 1024*ms, r.BinSize())
	assert.Equal(t, 8, r.Bins(), "8.12 s")
	c, err := timeline.Compare(r, r, timeline.Query{})
	require.NoError(t, err)
	assert.Equal(t, timeline.Value(10), c.Changes[0].Baseline)
	assert.InDelta(t, 0.2, float64(c.Changes[8].Baseline), 1e-9, "busy for ten times 20 ms")
}

func TestTheFiftyFirstNodeIsFolded(t *testing.T) {
	r := newRun(t, &timeline.RunOptions{MaxSeries: 50})
	for n := range 80 {
		s := call("node"+string(rune('0'+n%10)), 0)
		s.Class = string(rune('a' + n/10))
		require.NoError(t, r.Add(s))
		require.NoError(t, r.Add(s))
	}
	assert.Equal(t, int64(60), r.Folded(), "30 combinations had no room")
	g := r.Graph(timeline.GraphQuery{})
	assert.Len(t, g.Edges, 51)
	sum := int64(0)
	for _, e := range g.Edges {
		sum += e.Attempts
	}
	assert.Equal(t, int64(160), sum, "nothing is lost but the names")
}

// Samples are added and asked about from many goroutines; bins are
// widened meanwhile. The race detector and the final count judge.
func TestConcurrentUse(t *testing.T) {
	r := newRun(t, &timeline.RunOptions{BinSize: ms, MaxBins: 64})
	const goroutines, each = 8, 2000
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			var batch []timeline.Sample
			for n := range each {
				s := call("node"+string(rune('a'+n%3)), time.Duration(n)*3*ms)
				s.Lane = string(rune('a' + g))
				if g%2 == 0 {
					batch = append(batch, s)
					continue
				}
				if r.Add(s) != nil {
					t.Error("refused")
				}
			}
			if r.AddAll(batch) != nil {
				t.Error("refused")
			}
		})
		wg.Go(func() {
			for range 50 {
				if r.Bins() == 0 {
					continue
				}
				if _, err := r.StateWindow(timeline.Query{}); err != nil {
					t.Error(err)
				}
				r.Graph(timeline.GraphQuery{})
			}
		})
	}
	wg.Wait()
	c, err := timeline.Compare(r, r, timeline.Query{})
	require.NoError(t, err)
	sum := timeline.Value(0)
	for _, change := range c.Changes {
		if change.Metric == timeline.Served {
			sum += change.Baseline
		}
	}
	assert.Equal(t, timeline.Value(goroutines*each), sum)
}

// A run takes memory for its bins, not for its samples. 1 MiB is a tenth of what
// the samples that are added last would take.
func TestMemoryDoesNotGrowWithTheSamples(t *testing.T) {
	r := newRun(t, &timeline.RunOptions{MaxBins: 20})
	add := func(n int) {
		for i := range n {
			latency := time.Duration(i*7919%1000) * 100 * time.Microsecond
			s := timeline.Sample{Target: "a", Key: uint64(i), Start: time.Duration(i%19) * sec}
			s.End = s.Start + latency
			s.Failed = i%7 == 0
			if r.Add(s) != nil {
				t.Fatal("refused")
			}
		}
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	add(100_000)
	before := held()
	add(300_000)
	after := held()
	assert.Less(t, after, before+1<<20)
	runtime.KeepAlive(r)
}

func TestAddingAllocatesOnlyForBins(t *testing.T) {
	r := newRun(t, nil)
	s := call("a", 0)
	for range 1500 { // until the bin's latencies are in the histogram
		require.NoError(t, r.Add(s))
	}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if r.Add(s) != nil {
			t.Fatal("refused")
		}
	}))
}
