package contract

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// calmCalls counts the calls of the agent in runs without faults.
type calmCalls struct {
	runs    int                   // complete ones; 0: the calls are not known
	targets map[string]calmTarget // by name
}

// calmTarget is an injection point that was called in a run without faults.
type calmTarget struct {
	most  int  // calls of one run and lane, at most
	lanes bool // some calls were in a lane with a name
	tool  bool // it is a tool, which has no name besides
}

// countCalls adds the calls of a run without faults. A run whose log may not have all
// of them is left out.
func (l *promptList) countCalls(s *run) {
	if len(s.observations) < len(l.prompts) || s.partial != nil || s.undecided != nil ||
		s.leaked != "" || s.abandoned || s.unended || s.dropped > 0 || s.late > 0 {
		return
	}
	own := calmCalls{runs: 1, targets: make(map[string]calmTarget)}
	for _, o := range s.observations {
		for i := range o.Events {
			e := &o.Events[i]
			own.add(e.Target, calmTarget{toInt(e.Ordinal) + 1, e.Lane != "", e.Layer == chaos.LayerTool})
		}
	}
	l.calm.mu.Lock()
	defer l.calm.mu.Unlock()
	l.calm.calls.join(&own)
}

// allEnded reports whether each target has a call that ended. Only these calls are in
// the log.
func allEnded(observations []*Observation, targets []string) bool {
	ended := make(map[string]bool, len(targets))
	for _, o := range observations {
		for i := range o.Events {
			ended[o.Events[i].Target] = true
		}
	}
	return !slices.ContainsFunc(targets, func(target string) bool { return !ended[target] })
}

func (c *calmCalls) add(target string, t calmTarget) {
	sum, seen := c.targets[target]
	c.targets[target] = calmTarget{max(sum.most, t.most), sum.lanes || t.lanes, t.tool && (sum.tool || !seen)}
}

// join adds what is known of other runs.
func (c *calmCalls) join(other *calmCalls) {
	if c.targets == nil {
		c.targets = make(map[string]calmTarget)
	}
	add(&c.runs, other.runs)
	for target, t := range other.targets {
		c.add(target, t)
	}
}

// of returns the calls to the targets that a rule matches: the most of one run, lane
// and target. ok is false if that is not known: a point that is no tool may have
// another name, an alias, which the log of a run does not have.
func (c *calmCalls) of(g *glob.Glob, isTool func(name string) bool) (most calmTarget, ok bool) {
	name, literal := g.Literal()
	for target, t := range c.targets {
		switch {
		case g.Match(target):
			most.most, most.lanes = max(most.most, t.most), most.lanes || t.lanes
		case !t.tool && !(literal && isTool(name)):
			return calmTarget{}, false
		}
	}
	return most, c.runs > 0
}
