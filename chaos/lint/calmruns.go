package lint

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// CalmRuns are the calls of an agent in complete runs without faults. The zero value
// has no run, and nothing is known. It must not be changed while it is read.
type CalmRuns struct {
	_ struct{}
	// Runs is the number of runs.
	Runs int
	// Tools are the names of tools, which no other point has for an alias. They matter
	// with Aliases.
	Tools []string
	// Aliases reports whether points that are no tools may have another name by which
	// rules match them ([chaos.WrapOptions].Alias). No event shows that name, so a
	// rule that does not match such a point may match its calls all the same.
	Aliases bool

	strands map[strand]calls
}

// A strand is a target in a lane.
type strand struct{ target, lane string }

// calls are those of a strand.
type calls struct {
	most  int   // of one run, at most
	turns []int // those that some call has, in order; too many: see maxTurns
	tool  bool  // all of them were calls of a tool, which has no alias
}

// maxTurns bounds the turns that are kept of a strand. With more, none is kept, and a
// call may have any turn.
const maxTurns = 64

// Add adds the calls of one run, as [chaos.InjectorOptions.RecordAll] records them:
// all of them, or what follows from them is wrong.
func (c *CalmRuns) Add(run []chaos.Event) {
	own := CalmRuns{Runs: 1, strands: map[strand]calls{}}
	for i := range run {
		e := &run[i]
		at := strand{e.Target, e.Lane}
		own.strands[at] = own.strands[at].plus(calls{1, []int{e.Turn}, e.Layer == chaos.LayerTool}, false)
	}
	c.Join(&own)
}

// Join adds the runs of another record.
func (c *CalmRuns) Join(other *CalmRuns) {
	if c.strands == nil {
		c.strands = make(map[strand]calls, len(other.strands))
	}
	c.Runs += other.Runs
	for at, n := range other.strands {
		c.strands[at] = c.strands[at].plus(n, true)
	}
}

// plus adds calls of the same run, or of another one.
func (c calls) plus(other calls, anotherRun bool) calls {
	if c.most == 0 {
		return other
	}
	most := c.most + other.most
	if anotherRun {
		most = max(c.most, other.most)
	}
	turns := c.turns
	for _, turn := range other.turns {
		if i, seen := slices.BinarySearch(turns, turn); !seen && len(turns) <= maxTurns {
			turns = slices.Insert(slices.Clip(turns), i, turn) // the array may be another record's
		}
	}
	return calls{most, turns, c.tool && other.tool}
}
