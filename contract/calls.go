package contract

import (
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

// countCalls adds the calls of a run without faults. One that ended early, or whose
// log was too small, shows too few of them and is left out.
func (l *promptList) countCalls(s *run) {
	if len(s.observations) < len(l.prompts) || s.partial != nil || s.undecided != nil ||
		s.leaked != "" || s.abandoned || s.dropped > 0 || s.late > 0 {
		return
	}
	l.calm.mu.Lock()
	defer l.calm.mu.Unlock()
	c := &l.calm.calls
	c.runs++
	if c.targets == nil {
		c.targets = make(map[string]calmTarget)
	}
	for _, o := range s.observations {
		for i := range o.Events {
			e := &o.Events[i]
			t := c.targets[e.Target]
			t.most = max(t.most, toInt(e.Ordinal)+1)
			t.lanes = t.lanes || e.Lane != ""
			t.tool = e.Layer == chaos.LayerTool
			c.targets[e.Target] = t
		}
	}
}

// join adds what is known of another prompt list, and returns false if that is
// nothing.
func (c *calmCalls) join(other *calmCalls) bool {
	if c.targets == nil {
		c.targets = make(map[string]calmTarget)
	}
	c.runs += other.runs
	for name, t := range other.targets {
		sum := c.targets[name]
		c.targets[name] = calmTarget{max(sum.most, t.most), sum.lanes || t.lanes, t.tool}
	}
	return other.runs > 0
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
