package fewest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// culprits breaks when all of them are in the set.
func culprits(all ...int) func([]int) bool {
	return func(set []int) bool {
		return !slices.ContainsFunc(all, func(i int) bool { return !slices.Contains(set, i) })
	}
}

func unbounded(breaks func([]int) bool) func([]int) (bool, bool) {
	return func(set []int) (bool, bool) { return breaks(set), true }
}

func TestFind(t *testing.T) {
	for _, tc := range []struct {
		name    string
		n       int
		breaks  func([]int) bool
		set     []int
		decided int
	}{
		{"it breaks anyway", 5, culprits(), nil, 0},
		{"nothing to leave out", 0, culprits(), nil, 0},
		{"one culprit of one", 1, culprits(0), []int{0}, 1},
		{"one of many", 64, culprits(41), []int{41}, 42},
		{"three together: decided at the last of them", 64, culprits(3, 30, 50), []int{3, 30, 50}, 51},
		{"one of two is enough: the earlier beginning counts", 10,
			func(set []int) bool { return slices.Contains(set, 2) || slices.Contains(set, 7) }, []int{2}, 3},
		{"not monotone: 4 saves what 2 breaks, unless 6 is there", 8, func(set []int) bool {
			return slices.Contains(set, 2) && (!slices.Contains(set, 4) || slices.Contains(set, 6))
		}, []int{2}, 3},
		{"any two", 9, func(set []int) bool { return len(set) >= 2 }, []int{0, 1}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Find(tc.n, unbounded(tc.breaks))
			assert.Equal(t, tc.set, slices.Clip(append([]int(nil), got.Set...)))
			assert.Equal(t, tc.decided, got.Decided)
			assert.True(t, got.Minimal)
		})
	}
}

// formula draws any function of the sets of n things, or a monotone one, that is true of
// all of them together.
func formula(rt *rapid.T, n int) func([]int) bool {
	truth := rapid.SliceOfN(rapid.Bool(), 1<<n, 1<<n).Draw(rt, "truth")
	truth[1<<n-1] = true
	if rapid.Bool().Draw(rt, "monotone") {
		for mask := range truth {
			for i := range n {
				truth[mask|1<<i] = truth[mask|1<<i] || truth[mask]
			}
		}
	}
	return func(set []int) bool {
		mask := 0
		for _, i := range set {
			mask |= 1 << i
		}
		return truth[mask]
	}
}

func TestOfWhatIsFoundNothingCanBeLeftOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(rt, "n")
		breaks := formula(rt, n)
		seen := map[string]bool{}
		got := Find(n, func(set []int) (bool, bool) {
			if seen[fmt.Sprint(set)] || len(set) == n {
				rt.Fatalf("asked about %v, which is known", set)
			}
			seen[fmt.Sprint(set)] = true
			if !slices.IsSorted(set) {
				rt.Fatalf("%v is not in order", set)
			}
			return breaks(set), true
		})
		if !breaks(got.Set) || !got.Minimal || got.Asked != len(seen) {
			rt.Fatalf("%+v after %d questions", got, len(seen))
		}
		for i := range got.Set {
			if breaks(slices.Delete(slices.Clone(got.Set), i, i+1)) {
				rt.Fatalf("%d of %v can be left out", got.Set[i], got.Set)
			}
		}
		all := join(nil, rangeOf(n))
		if got.Decided > 0 && (!breaks(all[:got.Decided]) || breaks(all[:got.Decided-1])) {
			rt.Fatalf("decided at %d", got.Decided)
		}
	})
}

// Leaving out alone asks about each smaller set once if nothing can be left out, and ends
// with a set of which nothing can be.
func TestLeaveOut(t *testing.T) {
	for _, tc := range []struct {
		name   string
		n      int
		breaks func([]int) bool
		set    []int
		asked  int
	}{
		{"nothing", 0, culprits(), nil, 0},
		{"each is needed", 4, culprits(0, 1, 2, 3), []int{0, 1, 2, 3}, 4},
		{"none is needed", 2, culprits(), nil, 2},
		{"the last alone", 3, culprits(2), []int{2}, 3},
		{"without 1 alone, and then without 0, which was needed before", 3, func(set []int) bool {
			return slices.Contains(set, 0) && len(set) > 1 || slices.Equal(set, []int{2})
		}, []int{2}, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := LeaveOut(tc.n, unbounded(tc.breaks))
			assert.Equal(t, Result{Set: tc.set, Minimal: true, Asked: tc.asked},
				Result{Set: slices.Clip(append([]int(nil), got.Set...)), Minimal: got.Minimal, Asked: got.Asked})
		})
	}
}

func TestOfWhatLeaveOutLeavesNothingCanBeLeftOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(rt, "n")
		breaks, left := formula(rt, n), rapid.IntRange(0, 100).Draw(rt, "budget")
		got := LeaveOut(n, func(set []int) (bool, bool) {
			if left == 0 {
				return true, false
			}
			left--
			return breaks(set), true
		})
		if !breaks(got.Set) {
			rt.Fatalf("%+v does not break it", got)
		}
		for i := range got.Set {
			if got.Minimal && breaks(slices.Delete(slices.Clone(got.Set), i, i+1)) {
				rt.Fatalf("%d of %v can be left out", got.Set[i], got.Set)
			}
		}
	})
}

func TestACutSearchReturnsTheSmallestSetThatIsKnownToBreak(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		breaks := formula(rt, n)
		budget := rapid.IntRange(0, 20).Draw(rt, "budget")
		smallest, left := rangeOf(n), budget
		got := Find(n, func(set []int) (bool, bool) {
			if left == 0 {
				return true, false // the answer does not count
			}
			left--
			b := breaks(set)
			if b && len(set) < len(smallest) {
				smallest = slices.Clone(set)
			}
			return b, true
		})
		full := Find(n, unbounded(breaks))
		if !breaks(got.Set) || len(got.Set) != len(smallest) {
			rt.Fatalf("%v, and %v was seen to break", got.Set, smallest)
		}
		if got.Minimal != (full.Asked <= budget) {
			rt.Fatalf("minimal %v after %d of %d questions", got.Minimal, budget-left, full.Asked)
		}
	})
}

func rangeOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// The questions that the worst of 1,000 placements of k culprits among 64 needs. The
// limits are those of the formula in the doc of Find.
func TestQuestions(t *testing.T) {
	for _, tc := range []struct{ k, most int }{{1, 8}, {3, 24}, {5, 40}} {
		assert.LessOrEqual(t, questions(tc.k), tc.most, "%d culprits", tc.k)
	}
}

func questions(k int) (worst int) {
	r := rand.New(rand.NewPCG(1, uint64(k)))
	for range 1000 {
		worst = max(worst, Find(64, unbounded(culprits(r.Perm(64)[:k]...))).Asked)
	}
	return worst
}

func BenchmarkFind(b *testing.B) {
	for _, k := range []int{1, 3, 5} {
		b.Run(fmt.Sprintf("%d of 64", k), func(b *testing.B) {
			breaks := culprits(rand.New(rand.NewPCG(1, uint64(k))).Perm(64)[:k]...)
			for b.Loop() {
				Find(64, unbounded(breaks))
			}
			b.ReportMetric(float64(questions(k)), "worst-runs")
		})
	}
}
