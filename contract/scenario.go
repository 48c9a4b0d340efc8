package contract

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// A compiledScenario is a scenario with its plan, the layers of its rules, and
// the invariants that apply in it.
type compiledScenario struct {
	Scenario
	index      int
	source     *worldSource
	plan       *chaos.Plan
	tool, llm  bool // some rule, or something else that is broken, is in that layer
	invariants []*compiledInvariant
	counting   []string // the rules whose triggers count calls
	rules      map[string]ruleAt
	goals      []int // what its cells may reach, by the place in the matrix
}

func compileScenario(index int, s Scenario, plan *chaos.Plan, points []string) *compiledScenario {
	c := &compiledScenario{Scenario: s, index: index, plan: plan, counting: countingRules(plan),
		rules: rulesAt(plan)}
	for _, r := range plan.Rules() {
		switch layerOf(r, points) {
		case chaos.LayerTool:
			c.tool = true
		case chaos.LayerLLM:
			c.llm = true
		}
	}
	c.tool, c.llm = c.tool || s.Layer == chaos.LayerTool, c.llm || s.Layer == chaos.LayerLLM
	return c
}

// calm reports whether nothing is broken in the scenario.
func (s *compiledScenario) calm() bool { return !s.injects() && s.Layer == "" }

// injects reports whether the scenario has faults whose delivery is known.
func (s *compiledScenario) injects() bool { return len(s.Rules) > 0 || s.Rewrite != nil }

// layerOf is the layer of a rule: Rule.Layer; else that of its fault; else that
// of the points that its target matches. A fault of streams also applies to the
// stream of a model, so a target that is a model's call overrides its layer.
func layerOf(r chaos.Rule, points []string) chaos.Layer {
	if r.Layer != "" {
		return r.Layer
	}
	said, _ := descriptionOf(r.Fault)
	layer := said.Layer
	if layer != "" && layer != chaos.LayerStream {
		return layer
	}
	if at := pointLayer(r.Target, points); at == chaos.LayerLLM || layer == "" {
		return at
	}
	return layer
}

// pointLayer is the layer of what a target matches: a model if it matches a
// declared point with the name of a model's call, a point if it matches another
// declared point, else a tool. The name of an HTTP request needs no declaration.
func pointLayer(target string, points []string) chaos.Layer {
	g, err := glob.Compile(target)
	if err != nil {
		return chaos.LayerTool
	}
	layer := chaos.LayerTool
	switch {
	case modelapi.IsCall(target):
		return chaos.LayerLLM
	case strings.Contains(target, " "): // METHOD host/path
		layer = chaos.LayerPoint
	}
	for _, point := range points {
		if !g.Match(point) {
			continue
		}
		if layer = chaos.LayerPoint; modelapi.IsCall(point) {
			return chaos.LayerLLM
		}
	}
	return layer
}

func (s *compiledScenario) applies(a Applies) bool {
	switch a {
	case ToolFaults:
		return s.tool
	case LLMFaults:
		return s.llm
	case AnyFault:
		return !s.calm()
	case NoFault:
		return s.calm()
	}
	return true
}

// injector makes the injector of one cell. Its name does not contain the
// invariant, so all invariants of a trial meet the same faults.
func (s *compiledScenario) injector(trial int, o *chaos.InjectorOptions) *chaos.Injector {
	return s.plan.Injector(s.Name+"/"+strconv.Itoa(trial), o)
}

// String is the name of the constant.
func (a Applies) String() string {
	switch a {
	case Always:
		return "Always"
	case ToolFaults:
		return "ToolFaults"
	case LLMFaults:
		return "LLMFaults"
	case AnyFault:
		return "AnyFault"
	case NoFault:
		return "NoFault"
	}
	return fmt.Sprintf("Applies(%d)", uint8(a))
}

// mostMet bounds what is remembered of a field or scenario, since faults that chance draws may be
// others in each trial. What a later trial meets anew is taken for no copy.
const mostMet = 4096

// alikeRuns are the runs of a scenario, in groups of equal ones.
type alikeRuns struct {
	groups map[uint64]*alikeGroup // by their hash
	last   []*alikeGroup          // the latest, with which new runs are compared
	unlike bool                   // the agent was seen to differ
	count  RepeatCount
}

type alikeGroup struct {
	first   Cell
	prompts uint64
	calls   callHashes
	runs    int
}

// ran takes the run of a cell. One that ended before its time shows less than others.
func (a *alikeRuns) ran(c *CellReport, r *runNotes) {
	g := a.groups[r.Copy]
	switch {
	case c.State == NotRun, c.State == Inconclusive, g == nil && len(a.groups) == mostMet:
		return
	case g == nil:
		const mostLast = 64
		g = &alikeGroup{first: c.Cell, prompts: r.Prompts, calls: r.Calls}
		a.compare(g)
		if a.groups == nil {
			a.groups = map[uint64]*alikeGroup{}
		}
		a.groups[r.Copy] = g
		if a.last = append(a.last, g); len(a.last) > mostLast {
			a.last = a.last[1:]
		}
	case c.Delivered > 0:
		add(&a.count.Runs, 1)
	}
	g.runs++
}

// compare compares a run with others that it is not equal to.
func (a *alikeRuns) compare(g *alikeGroup) {
	for _, other := range a.last {
		sameTrial := other.first.Trial == g.first.Trial
		if other.prompts != g.prompts || a.unlike && (!sameTrial || a.count.Differ != "") ||
			!sameWhereBoth(other.calls, g.calls) {
			continue
		}
		if a.unlike = true; sameTrial {
			a.count.Differ = fmt.Sprintf("the runs of %v and %v met the same faults, and the agent did not do the same",
				other.first, g.first)
		}
	}
}

// repeats is what the runs show, for a report.
func (a *alikeRuns) repeats(scenario string) RepeatCount {
	n := a.count
	n.Scenario, n.Groups = scenario, len(a.groups)
	for _, g := range a.groups {
		if n.Alike == 0 || g.runs < n.Alike {
			n.Alike = g.runs
		}
	}
	if a.unlike {
		n.Alike = 0
	}
	return n
}
