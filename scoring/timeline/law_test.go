package timeline_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// operations draws some operations, each a list of attempts in order. No two
// share caller, lane and key.
func operations(t *rapid.T) [][]timeline.Sample {
	n := rapid.IntRange(1, 40).Draw(t, "operations")
	all := make([][]timeline.Sample, n)
	for key := range all {
		start := time.Duration(rapid.Int64Range(0, int64(40*sec)).Draw(t, "start"))
		tries := rapid.IntRange(1, 3).Draw(t, "tries")
		target := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target")
		class := rapid.SampledFrom([]string{"", "x"}).Draw(t, "class")
		for try := 1; try <= tries; try++ {
			end := start + time.Duration(rapid.Int64Range(0, int64(7*sec)).Draw(t, "length"))
			s := timeline.Sample{Target: target, Class: class, Key: uint64(key), Attempt: try, Start: start, End: end}
			s.Failed = try < tries || rapid.Bool().Draw(t, "fails")
			all[key] = append(all[key], s)
			start = end + time.Duration(rapid.Int64Range(0, int64(3*sec)).Draw(t, "pause"))
		}
	}
	return all
}

// everything is all that a run can be asked, as text.
func everything(t require.TestingT, r *timeline.Run) string {
	w, err := r.StateWindow(timeline.Query{})
	require.NoError(t, err)
	byClass := map[string]timeline.Window{}
	for _, class := range []string{"", "x"} {
		if w, err := r.StateWindow(timeline.Query{Classes: []string{class}}); err == nil { // else there is none
			byClass[class] = w
		}
	}
	c, err := timeline.Compare(r, r, timeline.Query{})
	require.NoError(t, err)
	text, err := json.Marshal([]any{w, byClass, c, r.Graph(timeline.GraphQuery{}), r.BinSize(), r.Bins()})
	require.NoError(t, err)
	return string(text)
}

var small = timeline.RunOptions{BinSize: 500 * ms, MaxBins: 8}

func runOf(t require.TestingT, o timeline.RunOptions, parts ...[]timeline.Sample) *timeline.Run {
	r, err := timeline.NewRun(&o)
	require.NoError(t, err)
	for _, part := range parts {
		require.NoError(t, r.AddAll(part))
	}
	return r
}

func TestLawOrderDoesNotMatterBetweenOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := operations(t)
		one := runOf(t, small, ops...)
		other := runOf(t, small, rapid.Permutation(ops).Draw(t, "order")...)
		require.Equal(t, everything(t, one), everything(t, other))
	})
}

// Bins that were widened hold what bins that were wide from the start would hold.
func TestLawWideningLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := operations(t)
		widened := runOf(t, small, ops...)
		wide := small
		wide.BinSize = widened.BinSize()
		require.Equal(t, everything(t, runOf(t, wide, ops...)), everything(t, widened))
	})
}

// Two windows side by side are the window over both.
func TestLawWindowsCompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := runOf(t, timeline.RunOptions{}, operations(t)...)
		last := r.Bins() - 1
		cut := rapid.IntRange(0, last).Draw(t, "cut")
		ask := func(from, to int) []timeline.Series {
			w, err := r.StateWindow(timeline.Query{Start: timeline.Bin(from), End: timeline.Bin(to)})
			require.NoError(t, err)
			return w.Series
		}
		whole, left := ask(0, last), ask(0, cut)
		for i := range whole {
			for m, values := range whole[i].Metrics {
				joined := slices.Clone(left[i].Metrics[m])
				if cut < last {
					joined = append(joined, ask(cut+1, last)[i].Metrics[m]...)
				}
				want, err := json.Marshal(values)
				require.NoError(t, err)
				got, err := json.Marshal(joined)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), m)
			}
		}
	})
}

// What is busy is never more than the calls were in flight, nor less than the
// longest of them was; and what has begun has ended or is in the backlog.
func TestLawCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := operations(t)
		r := runOf(t, small, ops...)
		w, err := r.StateWindow(timeline.Query{})
		require.NoError(t, err)
		for _, s := range w.Series {
			var arrivals, ended, busy timeline.Value
			for i := range s.Metrics[timeline.Arrivals] {
				arrivals += s.Metrics[timeline.Arrivals][i]
				ended += s.Metrics[timeline.Served][i] + s.Metrics[timeline.Errors][i]
				busy += s.Metrics[timeline.Busy][i]
				require.Equal(t, arrivals-ended, s.Metrics[timeline.Backlog][i])
				require.LessOrEqual(t, float64(s.Metrics[timeline.Utilization][i]), 1.0)
			}
			require.Equal(t, arrivals, ended, "all calls of this test have ended")
			truth := union(ops, s.Node)
			require.GreaterOrEqual(t, float64(busy), truth.Seconds()-1e-6)
			// Each call may touch two slots, of 1/64 bin each, that it fills only in part.
			slack := 2 * float64(calls(ops, s.Node)) * r.BinSize().Seconds() / 64
			require.LessOrEqual(t, float64(busy), truth.Seconds()+slack)
		}
	})
}

func calls(ops [][]timeline.Sample, node string) (n int) {
	for _, op := range ops {
		if op[0].Target == node {
			n += len(op)
		}
	}
	return n
}

// union is the time with at least one call in flight, by sorting the calls.
func union(ops [][]timeline.Sample, node string) (busy time.Duration) {
	var all []timeline.Sample
	for _, op := range ops {
		if op[0].Target == node {
			all = append(all, op...)
		}
	}
	slices.SortFunc(all, func(a, b timeline.Sample) int { return int(a.Start - b.Start) })
	until := time.Duration(0)
	for _, s := range all {
		busy += max(0, s.End-max(until, s.Start))
		until = max(until, s.End)
	}
	return busy
}
