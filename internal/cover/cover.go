// Package cover makes covering arrays: few rows, each a level for every factor, in
// which every level, or every pair of levels of two factors, occurs together.
package cover

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Rows returns rows that cover the levels 0 to levels[f]−1 of each factor f, each
// level 1 or more: with strength 1 each level occurs in some row, with strength 2
// each pair of levels of two factors does. The same arguments give the same rows.
//
// Strength 1 takes as many rows as the factor with the most levels has, which is the
// fewest there can be. Strength 2 is the better of two ways. The greedy one suits
// factors with different levels: each row is the best of several, each built from a
// pair that is missing, factor by factor in a random order with the level that covers
// the most missing pairs (D. M. Cohen et al., The AETG System, IEEE Transactions on
// Software Engineering 23, 1997). The other one takes the rows from a finite field with
// as many elements as a factor has levels, or a few more. Time and memory grow with
// the square of the factors.
func Rows(levels []int, strength int) [][]int {
	if len(levels) == 0 {
		return nil
	}
	if strength < 2 || len(levels) == 1 {
		return single(levels)
	}
	g := newGreedy(levels)
	f := fieldOf(slices.Max(levels))
	choices := 0 // factors with a choice
	for _, n := range levels {
		if n > 1 {
			choices++
		}
	}
	most := productRows(f, choices)
	var rows [][]int
	for g.missing > 0 {
		if len(rows) == most {
			return fieldRows(f, choices, levels)
		}
		row := g.best()
		g.cover(row)
		rows = append(rows, row)
	}
	return rows
}

// fieldRows are the rows of the product for the factors with a choice. Where a row has
// a level that a factor lacks, any of its own will do.
func fieldRows(f field, choices int, levels []int) [][]int {
	rows := make([][]int, 0, productRows(f, choices))
	for _, from := range product(f, choices) {
		row := make([]int, len(levels))
		at := 0
		for i, n := range levels {
			if n > 1 {
				row[i] = from[at] % n
				at++
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func single(levels []int) [][]int {
	rows := make([][]int, slices.Max(levels))
	for i := range rows {
		rows[i] = make([]int, len(levels))
		for f, n := range levels {
			rows[i][f] = i % n
		}
	}
	return rows
}

// greedy knows which pairs are missing.
type greedy struct {
	levels  []int
	first   []int      // of each factor, the number of its level 0 among all levels
	open    [][]uint64 // of each level, the levels of other factors that it has not met
	left    []int      // of each level, how many those are
	missing int        // pairs in all
	rng     *rand.Rand
	tries   int // rows of which the best is taken
}

// effort bounds the steps for all tries of one row.
const effort = 400_000

func newGreedy(levels []int) *greedy {
	g := &greedy{levels: levels, first: make([]int, len(levels)), rng: rand.New(rand.NewPCG(0, 0))}
	total := 0
	for f, n := range levels {
		g.first[f] = total
		total += n
	}
	g.tries = max(1, min(200, effort/(total*len(levels))))
	words := (total + 63) / 64
	g.open, g.left = make([][]uint64, total), make([]int, total)
	for f, n := range levels {
		for level := g.first[f]; level < g.first[f]+n; level++ {
			g.open[level] = make([]uint64, words)
			for other := range total {
				if other < g.first[f] || other >= g.first[f]+n {
					g.open[level][other/64] |= 1 << (other % 64)
					g.left[level]++
				}
			}
			g.missing += g.left[level]
		}
	}
	g.missing /= 2
	return g
}

// best is the row, of some, that covers the most missing pairs.
func (g *greedy) best() []int {
	var best []int
	most := 0
	for range g.tries {
		if row, gain := g.try(); gain > most {
			best, most = row, gain
		}
	}
	return best
}

// try builds a row around a level that misses a pair. The factor of the other half takes a level that it misses, so
// the row covers one or more.
func (g *greedy) try() (row []int, gain int) {
	row = make([]int, len(g.levels))
	seen := make([]uint64, len(g.open[0])) // the levels of the row so far
	take := func(f, level int) {
		row[f] = level - g.first[f]
		seen[level/64] |= 1 << (level % 64)
	}
	f, level := g.start()
	take(f, level)
	for _, f2 := range g.rng.Perm(len(g.levels)) {
		if f2 == f {
			continue
		}
		chosen, most, ties := 0, -1, 0
		for l := g.first[f2]; l < g.first[f2]+g.levels[f2]; l++ {
			pairs := common(g.open[l], seen)
			switch {
			case pairs > most || pairs == most && g.left[l] > g.left[chosen]:
				chosen, most, ties = l, pairs, 1
			case pairs == most && g.left[l] == g.left[chosen]:
				if ties++; g.rng.IntN(ties) == 0 {
					chosen = l
				}
			}
		}
		gain += most
		take(f2, chosen)
	}
	return row, gain
}

// start is one of the levels with the most missing pairs.
func (g *greedy) start() (factor, level int) {
	most, ties := 0, 0
	for f, n := range g.levels {
		for l := g.first[f]; l < g.first[f]+n; l++ {
			switch {
			case g.left[l] > most:
				factor, level, most, ties = f, l, g.left[l], 1
			case g.left[l] == most:
				if ties++; g.rng.IntN(ties) == 0 {
					factor, level = f, l
				}
			}
		}
	}
	return factor, level
}

func common(a, b []uint64) (n int) {
	for i := range a {
		n += bits.OnesCount64(a[i] & b[i])
	}
	return n
}

// cover marks the pairs of a row as covered.
func (g *greedy) cover(row []int) {
	for f, level := range row {
		a := g.first[f] + level
		for f2 := range f {
			b := g.first[f2] + row[f2]
			if g.open[a][b/64]>>(b%64)&1 == 1 {
				g.open[a][b/64] &^= 1 << (b % 64)
				g.open[b][a/64] &^= 1 << (a % 64)
				g.left[a]--
				g.left[b]--
				g.missing--
			}
		}
	}
}
