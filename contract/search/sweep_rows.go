package search

import (
	"slices"

	"github.com/shakedown-go/shakedown/internal/cover"
)

// covering are rows in which each pair of a class occurs, one fault of every call in each.
func (p *pairing) covering(c *class) (rows []actSet) {
	var factors [][]int
	for call := range p.l.calmly {
		var levels []int
		for _, n := range p.l.calls[call].acts {
			if c.eligible[n] {
				levels = append(levels, n)
			}
		}
		if len(levels) > 0 {
			factors = append(factors, levels)
		}
	}
	if len(factors) < 2 {
		return nil
	}
	counts := make([]int, len(factors))
	for f := range factors {
		counts[f] = len(factors[f])
	}
	for _, row := range cover.Rows(counts, p.s.Strength) {
		set := make(actSet, len(row))
		for f, level := range row {
			set[f] = factors[f][level]
		}
		slices.Sort(set)
		rows = append(rows, set)
	}
	return rows
}

// packed puts the pairs of a class that have not met into few sets, without those that
// break it or take away each other's calls.
func (p *pairing) packed(c *class) (rows []actSet) {
	p.eachPair(func(i, j int) {
		if !c.need[p.pairIndex(i, j)] {
			return
		}
		for r := range rows {
			if both, ok := p.join(c, rows[r], i, j); ok {
				rows[r] = both
				return
			}
		}
		rows = append(rows, actSet{i, j})
	})
	return rows
}

// join adds a pair to a row, if it fits.
func (p *pairing) join(c *class, row actSet, pair ...int) (both actSet, ok bool) {
	both = row
	for _, n := range pair {
		if slices.Contains(both, n) {
			continue
		}
		for _, other := range both {
			if p.l.Acts[n].call == p.l.Acts[other].call || p.equal[p.pairIndex(min(n, other), max(n, other))] {
				return nil, false
			}
		}
		both = both.with(n)
	}
	for _, x := range c.invariants {
		if p.l.explains(x, both) {
			return nil, false
		}
	}
	return both, true
}
