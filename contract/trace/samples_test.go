package trace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// operations are samples as a recorder would make them: the attempts of one
// operation one after the other.
func operations() *rapid.Generator[[]timeline.Sample] {
	return rapid.Custom(func(t *rapid.T) []timeline.Sample {
		var all []timeline.Sample
		for key := range rapid.IntRange(1, 8).Draw(t, "operations") {
			s := timeline.Sample{Target: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target"), Key: uint64(key)}
			s.End = time.Duration(rapid.IntRange(0, 5000).Draw(t, "start")) * ms
			for s.Attempt = 1; s.Attempt == 1 || s.Failed && s.Attempt <= 4; s.Attempt++ {
				s.Start = s.End + time.Duration(rapid.IntRange(0, 50).Draw(t, "pause"))*ms
				s.End = s.Start + time.Duration(rapid.IntRange(0, 900).Draw(t, "length"))*ms
				s.Failed = rapid.Bool().Draw(t, "failed")
				all = append(all, s)
			}
		}
		return all
	})
}

func window(t require.TestingT, samples []timeline.Sample) timeline.Window {
	run, err := trace.RunOf(samples)
	require.NoError(t, err)
	w, err := run.StateWindow(timeline.Query{})
	require.NoError(t, err)
	return w
}

func TestTheOrderOfSamplesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := operations().Draw(t, "samples")
		shuffled := rapid.Permutation(samples).Draw(t, "shuffled")
		a, b := window(t, samples), window(t, shuffled)
		assertSameWindow(t, a, b)
	})
}

// assertSameWindow compares by text, since undefined values are not equal to themselves.
func assertSameWindow(t require.TestingT, a, b timeline.Window) {
	require.Equal(t, a.Window, b.Window)
	require.Len(t, b.Series, len(a.Series))
	for i := range a.Series {
		require.Equal(t, a.Series[i].Node, b.Series[i].Node)
		for m, values := range a.Series[i].Metrics {
			for j := range values {
				require.Equal(t, values[j].String(), b.Series[i].Metrics[m][j].String(), "%s of %s, bin %d", m, a.Series[i].Node, j)
			}
		}
	}
}

// In virtual time a whole operation may happen in one moment.
func TestAttemptsOfOneMomentAreJoined(t *testing.T) {
	metrics := window(t, []timeline.Sample{
		{Target: "a", Start: sec, End: sec, Attempt: 3}, {Target: "a", Start: sec, End: sec, Attempt: 1, Failed: true}, {Target: "a", Start: sec, End: sec, Attempt: 2, Failed: true},
	}).Series[0].Metrics
	assert.Equal(t, []timeline.Value{0, 1}, metrics[timeline.Arrivals])
	assert.Equal(t, []timeline.Value{0, 1}, metrics[timeline.Served])
	assert.Equal(t, []timeline.Value{0, 0}, metrics[timeline.Errors])
}

func TestNumberingFindsTheAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := operations().Draw(t, "samples")
		numbered := slices.Clone(samples)
		for i := range numbered {
			numbered[i].Attempt = 0
		}
		trace.NumberAttempts(numbered)
		require.Equal(t, samples, numbered, "every operation here has a key of its own")
		trace.NumberAttempts(numbered)
		require.Equal(t, samples, numbered, "numbers that are there are kept")
	})
}

func TestNumberingOfAttempts(t *testing.T) {
	at := func(start, end int, failed bool) timeline.Sample {
		return timeline.Sample{Target: "a", Start: time.Duration(start), End: time.Duration(end), Failed: failed}
	}
	numbered := at(5, 6, true)
	numbered.Attempt = 7
	elsewhere := at(5, 6, true)
	elsewhere.Caller = "b"
	for _, tt := range []struct {
		why     string
		samples []timeline.Sample
		want    []int
	}{
		{"a success ends the counting", []timeline.Sample{at(0, 1, true), at(2, 3, false), at(4, 5, true), at(6, 7, true)}, []int{1, 2, 1, 2}},
		{"in the order of time, not of the list", []timeline.Sample{at(6, 7, false), at(0, 1, true)}, []int{2, 1}},
		{"a call that overlaps the failed one is no retry", []timeline.Sample{at(0, 5, true), at(3, 8, true), at(8, 9, false)}, []int{1, 1, 2}},
		{"it may begin the moment the other ends", []timeline.Sample{at(0, 5, true), at(5, 8, false)}, []int{1, 2}},
		{"a given number is kept, and counted from", []timeline.Sample{at(0, 1, true), numbered, at(7, 8, true)}, []int{1, 7, 8}},
		{"callers are apart", []timeline.Sample{at(0, 1, true), elsewhere}, []int{1, 1}},
	} {
		numbered := tt.samples
		trace.NumberAttempts(numbered)
		var got []int
		for _, s := range numbered {
			got = append(got, s.Attempt)
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}
