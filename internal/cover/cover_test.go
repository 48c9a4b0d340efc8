package cover_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/cover"
)

// uncovered counts the pairs of levels that no row has.
func uncovered(levels []int, rows [][]int) (missing int) {
	for f := range levels {
		for f2 := range f {
			met := map[[2]int]bool{}
			for _, row := range rows {
				met[[2]int{row[f], row[f2]}] = true
			}
			missing += levels[f]*levels[f2] - len(met)
		}
	}
	return missing
}

func TestEveryPairIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(rapid.IntRange(1, 6), 0, 12).Draw(t, "levels")
		for _, strength := range []int{1, 2} {
			rows := cover.Rows(levels, strength)
			for f, n := range levels {
				seen := make([]bool, n)
				for _, row := range rows {
					require.Len(t, row, len(levels))
					require.True(t, row[f] >= 0 && row[f] < n)
					seen[row[f]] = true
				}
				require.NotContains(t, seen, false, "each level of %d", f)
			}
			require.Equal(t, rows, cover.Rows(levels, strength), "the same again")
			if len(levels) == 0 {
				require.Empty(t, rows)
				continue
			}
			sorted := slices.Sorted(slices.Values(levels))
			least := sorted[len(sorted)-1]
			if strength == 2 {
				require.Zero(t, uncovered(levels, rows))
				if len(sorted) > 1 {
					least *= sorted[len(sorted)-2]
				}
				product := 1
				for _, n := range levels {
					product *= n
				}
				require.LessOrEqual(t, len(rows), product, "never more than the full product")
			} else {
				require.Len(t, rows, least, "of strength 1 there are no fewer")
			}
			require.GreaterOrEqual(t, len(rows), least)
		}
	})
}

func TestFewRows(t *testing.T) {
	for _, tc := range []struct {
		levels []int
		most   int
		best   int // known
	}{
		{slices.Repeat([]int{4}, 20), 28, 28},
		{slices.Repeat([]int{2}, 4), 6, 5},
		{slices.Repeat([]int{3}, 4), 9, 9},
		{slices.Repeat([]int{3}, 13), 19, 15},
		{slices.Repeat([]int{2}, 100), 16, 10},
		{slices.Repeat([]int{5}, 6), 25, 25},
		{slices.Repeat([]int{8}, 9), 64, 64},
		{slices.Repeat([]int{9}, 10), 81, 81},
		{[]int{4, 1, 4, 4, 3, 2, 1}, 16, 16},
		{[]int{5, 1, 4, 3, 1, 2}, 23, 20},
		{[]int{7, 9}, 63, 63},
	} {
		rows := cover.Rows(tc.levels, 2)
		require.Zero(t, uncovered(tc.levels, rows))
		assert.LessOrEqual(t, len(rows), tc.most, "%v", tc.levels)
		assert.GreaterOrEqual(t, len(rows), tc.best, "%v: no fewer rows are known", tc.levels)
	}
}

func BenchmarkRows(b *testing.B) {
	levels := slices.Repeat([]int{4}, 20)
	rows := 0
	for b.Loop() {
		rows = len(cover.Rows(levels, 2))
	}
	b.ReportMetric(float64(rows), "rows")
}

func BenchmarkRowsOf300(b *testing.B) {
	levels := slices.Repeat([]int{5}, 300)
	rows := 0
	for b.Loop() {
		rows = len(cover.Rows(levels, 2))
	}
	b.ReportMetric(float64(rows), "rows")
}
