package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawLatencies(t *rapid.T, label string) []time.Duration {
	n := rapid.SampledFrom([]int{0, 1, 5, 100, maxExact - 1, maxExact, maxExact + 1, 3 * maxExact}).Draw(t, label)
	highest := rapid.Int64Range(1, int64(time.Hour)).Draw(t, label+" up to")
	step := rapid.Int64Range(1, 1<<40).Draw(t, label+" step")
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration((int64(i)*step&(1<<62-1) + int64(i)) % highest)
	}
	return all
}

func latenciesOf(all []time.Duration) *latencies {
	var l latencies
	for _, d := range all {
		l.add(d)
	}
	return &l
}

func TestThePercentileIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawLatencies(t, "n")
		got := latenciesOf(all).percentile95()
		if len(all) == 0 {
			require.Equal(t, int64(-1), got)
			return
		}
		slices.Sort(all)
		rank := (95*len(all) + 99) / 100 // the nearest rank: ⌈0.95·n⌉
		want := float64(all[min(max(rank, 1), len(all))-1])
		require.GreaterOrEqual(t, float64(got), want*(1-1e-6)-1, "seven digits")
		if len(all) <= maxExact {
			require.LessOrEqual(t, float64(got), want*(1+1e-6)+1, "exact")
		} else {
			require.LessOrEqual(t, float64(got), want*(1+1./128)*(1+1e-6)+1)
		}
	})
}

func TestMergedLatenciesAreThoseOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawLatencies(t, "a"), drawLatencies(t, "b")
		one := latenciesOf(slices.Concat(a, b))
		left, right := latenciesOf(a), latenciesOf(b)
		_ = left.percentile95() // what was asked before does not stick
		left.merge(right)
		require.Equal(t, int64(len(b)), right.count(), "the merged is unchanged")
		require.Equal(t, one.count(), left.count())
		require.Equal(t, one.percentile95(), left.percentile95())
	})
}

func TestSelectionIsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Float32Range(0, 50), 1, 200).Draw(t, "a")
		n := rapid.IntRange(0, len(a)-1).Draw(t, "n")
		sorted := slices.Sorted(slices.Values(a))
		require.Equal(t, sorted[n], nth(a, n))
		slices.Sort(a)
		require.Equal(t, sorted, a, "reordered, nothing else")
	})
}
