package timeline_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A stopwatch is the clock of a live run, set by the test.
type stopwatch struct {
	epoch time.Time
	at    time.Duration
}

func (w *stopwatch) now() time.Time { return w.epoch.Add(w.at) }

// live makes a live run of bins of a second, at the beginning of its time.
func live(t testing.TB, maxBins int) (*timeline.Run, *stopwatch) {
	t.Helper()
	w := &stopwatch{epoch: time.Date(2026, 5, 4, 3, 2, 0, 0, time.UTC)}
	r, err := timeline.NewRun(&timeline.RunOptions{Epoch: w.epoch, MaxBins: maxBins, Now: w.now})
	require.NoError(t, err)
	return r, w
}

// served is a call that went well, and took some time.
func served(target string, start, took time.Duration) timeline.Sample {
	return timeline.Sample{Target: target, Start: start, End: start + took}
}

func series(t testing.TB, r *timeline.Run, node string, m timeline.Metric) []timeline.Value {
	t.Helper()
	w, err := r.StateWindow(timeline.Query{Nodes: []string{node}}, m)
	require.NoError(t, err)
	return w.Series[0].Metrics[m]
}

func TestBinsOfALiveRunKeepTheirLength(t *testing.T) {
	r, w := live(t, 10)
	for w.at = 0; w.at < 7*24*time.Hour; w.at += 977 * time.Millisecond {
		require.NoError(t, r.Add(served("a", w.at, 0)))
	}
	assert.Equal(t, sec, r.BinSize(), "after a week of running")
	last := r.Bins() - 1
	answer, err := r.StateWindow(timeline.Query{}, timeline.Served, timeline.Backlog)
	require.NoError(t, err)
	assert.Equal(t, last-9, answer.Window.StartBin, "the newest ten")
	assert.Equal(t, last, answer.Window.EndBin)
	assert.Equal(t, w.epoch.Add(time.Duration(last-9)*sec), answer.Window.Start)
	for i, v := range answer.Series[0].Metrics[timeline.Served][:9] {
		assert.Contains(t, []timeline.Value{1, 2}, v, i)
		assert.Zero(t, answer.Series[0].Metrics[timeline.Backlog][i], "what is gone has left no backlog")
	}
	assert.Equal(t, []string{fmt.Sprintf("What happened before %s is no longer kept: a live run has its newest 10 bins of 1s.",
		answer.Window.Start.Format(time.RFC3339))}, r.Notes())
}

func TestWhatLiesOutsideALiveRunIsCountedAndSaid(t *testing.T) {
	r, w := live(t, 10)
	w.at = time.Hour
	for _, s := range []timeline.Sample{
		served("a", time.Hour-sec, ms),         // now
		served("a", time.Hour+500*ms, 500*ms),  // a clock that is a little ahead
		served("a", time.Hour, sec+ms),         // more than a bin ahead
		served("a", 25*time.Hour, sec),         // a day ahead
		served("a", 0, sec),                    // an hour ago
		served("a", time.Hour-11*sec, 500*ms),  // just before the first bin
		served("a", time.Hour-11*sec, 3500*ms), // it began before, and ended within
	} {
		require.NoError(t, r.Add(s), "nothing is wrong with the sample")
	}
	before, ahead := r.Outside()
	assert.Equal(t, []int64{2, 2}, []int64{before, ahead})
	assert.Equal(t, sec, r.BinSize(), "one span of another day does not make bins of hours")
	w.at += sec // the bin that was ahead is there
	assert.Equal(t, []timeline.Value{1, 0, 0, 0, 0, 0, 0, 1, 0, 1}, series(t, r, "a", timeline.Served))
	assert.Equal(t, timeline.Value(0), series(t, r, "a", timeline.Backlog)[0], "the call that began before the window is no debt")
	assert.Contains(t, r.Notes(), "2 calls are not counted: ended before the bins that were kept.")
	assert.Contains(t, r.Notes(), "2 calls are not counted: ended more than a bin after the clock of the run; the clock of their source is ahead.")
	_, err := r.StateWindow(timeline.Query{Start: timeline.Bin(3)})
	assert.EqualError(t, err, "timeline: startBin is 3; allowed: 3592 or more: earlier bins are no longer kept")
}

func TestACallInFlightCountsFromItsBeginning(t *testing.T) {
	r, w := live(t, 60)
	require.NoError(t, r.Add(served("a", 0, 100*ms)))
	w.at = 2 * sec
	hang, err := r.Begin(timeline.Sample{Target: "a", Start: 2 * sec})
	require.NoError(t, err)
	assert.Equal(t, 1, r.InFlight())
	assert.Empty(t, incidents(t, r), "it has had no time to be served")
	w.at = 5*sec + 500*ms
	assert.Equal(t, []timeline.Value{1, 0, 1, 0, 0, 0}, series(t, r, "a", timeline.Arrivals))
	assert.Equal(t, []timeline.Value{0, 0, 1, 1, 1, 1}, series(t, r, "a", timeline.Backlog))
	assert.Equal(t, []timeline.Value{0.1, 0, 1, 1, 1, 0.5}, series(t, r, "a", timeline.Busy))
	require.Len(t, incidents(t, r), 1, "a hang is an outage while it lasts")
	assert.Equal(t, timeline.Outage, incidents(t, r)[0].Type)
	assert.Equal(t, int64(2), r.Graph(timeline.GraphQuery{}).Edges[0].Attempts)
	assert.Equal(t, []string{"1 call is in flight: counted as arrivals and backlog, not yet as served or failed."}, r.Notes())

	require.NoError(t, hang.End(served("a", 2*sec, 3500*ms)))
	assert.Equal(t, []timeline.Value{1, 0, 1, 0, 0, 0}, series(t, r, "a", timeline.Arrivals), "counted once")
	assert.Equal(t, []timeline.Value{0, 0, 1, 1, 1, 0}, series(t, r, "a", timeline.Backlog))
	assert.Equal(t, int64(2), r.Graph(timeline.GraphQuery{}).Edges[0].Attempts)
	assert.Zero(t, r.InFlight())
}

// However often and from however many goroutines a call is ended, it is served once.
func TestACallEndsOnce(t *testing.T) {
	for why, run := range map[string]func() *timeline.Run{
		"live": func() *timeline.Run {
			r, w := live(t, 60)
			w.at = 3 * sec
			return r
		},
		"a recording, in which Begin remembers nothing": func() *timeline.Run { return newRun(t, nil) },
	} {
		r := run()
		call, err := r.Begin(timeline.Sample{Target: "a", Start: sec})
		require.NoError(t, err)
		require.ErrorContains(t, call.End(served("a", sec, -1)), "end is 999.999999ms; allowed: 1s or more, where it starts", why)
		assert.Zero(t, r.InFlight(), "%s: nobody knows when it ended, only that it did", why)
		var well atomic.Int64
		var enders sync.WaitGroup
		for range 8 {
			enders.Go(func() {
				if call.End(served("a", sec, sec)) == nil {
					well.Add(1)
				}
			})
		}
		enders.Wait()
		assert.Equal(t, int64(1), well.Load(), why)
		assert.EqualError(t, call.End(served("a", sec, sec)), "timeline: the call has ended already", why)
		assert.Equal(t, timeline.Value(1), series(t, r, "a", timeline.Served)[2], why)
		assert.Equal(t, timeline.Value(1), series(t, r, "a", timeline.Arrivals)[1], why)
	}
}

func incidents(t testing.TB, r *timeline.Run) []timeline.Incident {
	t.Helper()
	found, err := r.DetectOutages(timeline.Query{}, timeline.OutageRule{})
	require.NoError(t, err)
	return found
}

func TestARetryInFlightGoesOnWithItsOperation(t *testing.T) {
	r, w := live(t, 60)
	require.NoError(t, r.Add(timeline.Sample{Target: "a", Start: 0, End: 100 * ms, Failed: true, Attempt: 1}))
	w.at = sec
	assert.Equal(t, []timeline.Value{1, 0}, series(t, r, "a", timeline.Errors), "as far as is known")
	retry, err := r.Begin(timeline.Sample{Target: "a", Start: sec, Attempt: 2})
	require.NoError(t, err)
	w.at = 2 * sec
	assert.Equal(t, []timeline.Value{0, 0, 0}, series(t, r, "a", timeline.Errors), "it is being tried again")
	assert.Equal(t, []timeline.Value{1, 0, 0}, series(t, r, "a", timeline.Arrivals), "one operation")
	assert.Equal(t, []timeline.Value{1, 1, 0}, series(t, r, "a", timeline.Attempts))
	assert.Equal(t, []timeline.Value{1, 1, 1}, series(t, r, "a", timeline.Backlog))
	require.NoError(t, retry.End(timeline.Sample{Target: "a", Start: sec, End: 2 * sec, Attempt: 2}))
	assert.Equal(t, []timeline.Value{0, 0, 1}, series(t, r, "a", timeline.Served))
	assert.Equal(t, []timeline.Value{1, 1, 0}, series(t, r, "a", timeline.Backlog))
}

func TestBeginRefuses(t *testing.T) {
	r, _ := live(t, 60)
	_, err := r.Begin(timeline.Sample{})
	assert.EqualError(t, err, `timeline: target is missing; allowed: the name of the node that was called`)
	var none *timeline.Pending
	assert.Error(t, none.End(served("a", 0, 0)))
	recording := newRun(t, nil)
	p, err := recording.Begin(served("a", 0, 0))
	require.NoError(t, err)
	assert.Zero(t, recording.InFlight(), "a recording has no now")
	require.NoError(t, p.End(served("a", 0, sec)))
	assert.Equal(t, []timeline.Value{1, 0}, series(t, recording, "a", timeline.Arrivals))
}

// TestLawALiveRunIsTheEndOfARecording is the law of the window that moves: its
// bins are those of a recording of the same calls, which widens none.
func TestLawALiveRunIsTheEndOfARecording(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const maxBins = 8
		w := &stopwatch{epoch: time.Unix(0, 0)}
		moving, err := timeline.NewRun(&timeline.RunOptions{MaxBins: maxBins, Now: w.now})
		require.NoError(t, err)
		whole, err := timeline.NewRun(&timeline.RunOptions{MaxBins: 1 << 16})
		require.NoError(t, err)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			w.at += time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause")) * ms
			s := timeline.Sample{Target: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target"), End: w.at}
			s.Start = max(0, w.at-time.Duration(rapid.IntRange(0, 20000).Draw(t, "took"))*ms)
			s.Failed, s.Attempt = rapid.Bool().Draw(t, "failed"), rapid.IntRange(1, 2).Draw(t, "attempt")
			s.Lane = fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "lane"))
			require.NoError(t, moving.Add(s))
			require.NoError(t, whole.Add(s))
			if rapid.Bool().Draw(t, "ask") {
				_, err := moving.StateWindow(timeline.Query{})
				require.NoError(t, err)
			}
		}
		got, err := moving.StateWindow(timeline.Query{})
		require.NoError(t, err)
		want, err := whole.StateWindow(timeline.Query{Start: timeline.Bin(got.Window.StartBin)})
		require.NoError(t, err)
		require.LessOrEqual(t, got.Window.EndBin-got.Window.StartBin, maxBins-1)
		text := func(v any) string {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			return string(b)
		}
		require.Equal(t, text(want), text(got))
	})
}

func TestALiveRunUnderLoad(t *testing.T) {
	r, err := timeline.NewRun(&timeline.RunOptions{Epoch: time.Now(), BinSize: ms, MaxBins: 4, Now: time.Now})
	require.NoError(t, err)
	epoch := r.Epoch()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				start := max(0, time.Since(epoch))
				p, err := r.Begin(timeline.Sample{Target: "a", Start: start})
				assert.NoError(t, err)
				_, err = r.StateWindow(timeline.Query{})
				assert.NoError(t, err)
				assert.NoError(t, p.End(timeline.Sample{Target: "a", Start: start, End: max(start, time.Since(epoch))}))
			}
		})
	}
	wg.Wait()
	before, ahead := r.Outside()
	var counted timeline.Value
	for _, e := range r.Graph(timeline.GraphQuery{}).Edges {
		counted += timeline.Value(e.Attempts)
	}
	assert.Equal(t, timeline.Value(2000), counted+timeline.Value(before+ahead), "each call is counted, as such or as left out")
}
