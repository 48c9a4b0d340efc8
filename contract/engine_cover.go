package contract

import (
	"cmp"
	"slices"
)

// maxCover bounds the coverage: the names of injection points may hold numbers.
const maxCover = 1000

// coverage counts the delivered faults of a matrix by target, kind and try.
type coverage struct {
	delivered map[CoverCount]int  // without their counts
	uncalled  map[string]struct{} // the tools that no run called yet
	tools     []string
	full      bool // some are not counted
}

func newCoverage(tools []string) *coverage {
	c := &coverage{delivered: map[CoverCount]int{}, uncalled: map[string]struct{}{}, tools: tools}
	for _, name := range tools {
		c.uncalled[name] = struct{}{}
	}
	return c
}

// add counts what one run showed.
func (c *coverage) add(n *runNotes) {
	for _, at := range n.Called {
		delete(c.uncalled, c.tools[at])
	}
	for _, row := range n.Coverage {
		calls := row.Delivered
		row.Delivered = 0
		have, seen := c.delivered[row]
		if !seen && len(c.delivered) == maxCover {
			c.full = true
			continue
		}
		add(&have, calls)
		c.delivered[row] = have
	}
}

// rows is the coverage as it is reported. all reports whether every call of every cell was
// seen: only then it can tell what no fault reached.
func (c *coverage) rows(all bool) (rows []CoverCount) {
	reached := map[string]bool{}
	for row, n := range c.delivered {
		reached[row.Target] = true
		row.Delivered = n
		rows = append(rows, row)
	}
	if all && !c.full {
		for _, tool := range c.tools {
			if !reached[tool] {
				_, uncalled := c.uncalled[tool]
				rows = append(rows, CoverCount{Target: tool, Uncalled: uncalled})
			}
		}
	}
	slices.SortFunc(rows, compareCover)
	return rows
}

func compareCover(a, b CoverCount) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Try, b.Try))
}
