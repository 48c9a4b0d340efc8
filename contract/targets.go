package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
)

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
			warnings = append(warnings, fmt.Sprintf("Invariant %s looks for calls of %q, and no tool or declared point has such a name.", inv.Name, pattern))
		}
	}
	return warnings
}
