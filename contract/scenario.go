package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	plan       *chaos.Plan
	tool, llm  bool // some rule is for that layer
	invariants []*compiledInvariant
	counting   []string // the rules whose triggers count calls
}

func compileScenario(index int, s Scenario, plan *chaos.Plan, points []string) *compiledScenario {
	c := &compiledScenario{Scenario: s, index: index, plan: plan, counting: countingRules(plan)}
	for _, r := range plan.Rules() {
		switch layerOf(r, points) {
		case chaos.LayerTool:
			c.tool = true
		case chaos.LayerLLM:
			c.llm = true
		}
	}
	return c
}

// layerOf is the layer of a rule: Rule.Layer; else that of its fault; else that
// of the points that its target matches. A fault of streams also applies to the
// stream of a model, so a target that is a model's call overrides its layer.
func layerOf(r chaos.Rule, points []string) chaos.Layer {
	if r.Layer != "" {
		return r.Layer
	}
	layer := chaos.Layer("")
	if d, ok := r.Fault.(chaos.Described); ok {
		layer = d.Describe().Layer
	}
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
		return len(s.Rules) > 0
	case NoFault:
		return len(s.Rules) == 0
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

// learnTools lists the tools of a first world and checks the rules' targets
// against them, before any agent is called.
func (w *worker) learnTools(ctx context.Context) error {
	e := w.engine
	hasRegistry := false
	first := &runner{engine: e, inspect: func(ctx context.Context, world *World) (err error) {
		if hasRegistry = world.Tools != nil; hasRegistry {
			e.tools, err = world.Tools.Tools(ctx)
		}
		return err
	}}
	s := w.execute(ctx, first, e.o.Harness.Calm)
	switch {
	case s.cancelled:
		return fmt.Errorf("contract: the first world: %w", ctx.Err())
	case s.undecided != nil && s.lingering: // the tools are known, and each cell reports its own problems
		e.warnings = append(e.warnings, fmt.Sprintf("the first world: %v", s.undecided))
	case s.undecided != nil:
		return fmt.Errorf("contract: the first world: %w", s.undecided)
	case s.warning != "":
		e.warnings = append(e.warnings, s.warning)
	}
	e.known = targets(e.tools, hasRegistry, e.m.Points)
	for i := range e.m.Invariants {
		e.warnings = append(e.warnings, idleTargets(&e.m.Invariants[i], e.known)...)
	}
	var problems []error
	for _, scenario := range e.scenarios {
		if err := e.checkTargets(scenario, hasRegistry); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// checkTargets returns an error if a rule's target matches no known name and must: with
// StrictPoints, or if it is for tools and there is no registry. Other such targets may
// be points that the agent reaches.
func (e *engine) checkTargets(s *compiledScenario, hasRegistry bool) error {
	if len(s.Rules) == 0 {
		return nil
	}
	e.points.expect(s, e.known)
	var must []chaos.Rule
	for _, r := range s.plan.Rules() {
		if e.m.StrictPoints || !hasRegistry && layerOf(r, e.m.Points) == chaos.LayerTool {
			must = append(must, r)
		}
	}
	plan, err := chaos.NewPlan(e.m.Seed, must...)
	if err == nil {
		err = plan.CheckTargets(e.known...)
	}
	if err == nil {
		return nil
	}
	if !hasRegistry {
		err = fmt.Errorf("%w\nfaults on tools need an explicit list of callables or a tool registry: supply World.Tools (chaos.NewRegistry makes one of Go functions), or declare wrapped functions, streams and transports in Matrix.Points", err)
	}
	p := fields.List()
	p.Each(fmt.Sprintf("Scenarios[%d].Rules", s.index), err)
	return p.Err()
}

// targets are the known injection points of a world: its tools and the declared points.
func targets(tools []chaos.Tool, hasRegistry bool, points []string) []string {
	all := slices.Clone(points)
	if hasRegistry {
		all = append(all, chaos.ListTarget)
		for _, t := range tools {
			all = append(all, t.Name)
		}
	}
	return all
}

// idleTargets warns of each glob of an invariant that matches no target.
func idleTargets(inv *Invariant, targets []string) (warnings []string) {
	for _, pattern := range inv.Targets {
		g, err := glob.Compile(pattern)
		if err == nil && !slices.ContainsFunc(targets, g.Match) {
			warnings = append(warnings,
				fmt.Sprintf("Invariant %s looks for calls of %q, and no tool or declared point has such a name.",
					inv.Name, pattern))
		}
	}
	return warnings
}
