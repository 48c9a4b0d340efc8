package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// A worldSource is where runs get their worlds, with what is known of these worlds. All
// scenarios without NewWorld have one source, and each of the others has its own.
type worldSource struct {
	newWorld    func(context.Context) (*World, error) // nil: all runs share Matrix.World
	owner       string                                // the scenario that it belongs to; empty: those without NewWorld
	scenarios   []*compiledScenario
	lists       []*promptList // the distinct ones
	byPrompts   map[string]*promptList
	tools       []chaos.Tool // of the first world
	hasRegistry bool         // the first world has tools
	known       []string     // the injection points that are known before the first cell
	unmet       []*glob.Glob // targets of rules that match none of known
}

func (s *worldSource) shared() bool { return s.newWorld == nil }

// firstWorld is what messages call the first world.
func (s *worldSource) firstWorld() string {
	if s.owner == "" {
		return "the first world"
	}
	return "the first world of scenario " + s.owner
}

// listOf returns the entry of a prompt list with its known baselines, which it adds if
// there is none. It must not be called while cells run.
func (s *worldSource) listOf(prompts, baselines []string) *promptList {
	spelled := fmt.Sprintf("%q", prompts) // a search through the lists takes long where each scenario has one
	key := spelled + fmt.Sprintf("%q", baselines)
	l := s.byPrompts[key]
	if l == nil {
		l = &promptList{source: s, prompts: prompts, baselines: baselines, spelled: spelled,
			making: semaphore.NewWeighted(1)}
		s.lists = append(s.lists, l)
		if s.byPrompts == nil {
			s.byPrompts = map[string]*promptList{}
		}
		s.byPrompts[key] = l
	}
	return l
}

func (e *engine) assignWorlds() {
	var common *worldSource
	for _, s := range e.scenarios {
		switch {
		case s.NewWorld != nil:
			s.source = &worldSource{newWorld: s.NewWorld, owner: s.Name}
			e.sources = append(e.sources, s.source)
		case common == nil:
			common = &worldSource{newWorld: e.m.NewWorld}
			e.sources = append(e.sources, common)
			fallthrough
		default:
			s.source = common
		}
		s.source.scenarios = append(s.source.scenarios, s)
	}
}

// sharedSource is the source of the scenarios in the shared world; nil if there are none.
func (e *engine) sharedSource() *worldSource {
	if i := slices.IndexFunc(e.sources, (*worldSource).shared); i >= 0 {
		return e.sources[i]
	}
	return nil
}

// calmBubble is the bubble of a source's runs that are not cells. The shared world was
// made outside of any bubble.
func (w *worker) calmBubble(s *worldSource) Bubble {
	if s.shared() {
		return nil
	}
	return w.engine.o.Harness.Calm
}

// learn makes the first world of each source and checks the rules' targets, before any
// agent is called.
func (e *engine) learn(ctx context.Context, sources []*worldSource) error {
	w := e.newWorker()
	defer w.end()
	var problems []error
	for _, s := range sources {
		if err := w.learnTools(ctx, s); err != nil {
			problems = append(problems, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for i := range e.m.Invariants {
		e.warnOfIdleTargets(&e.m.Invariants[i], sources)
	}
	for _, source := range sources {
		for _, s := range source.scenarios {
			if err := e.checkTargets(s); err != nil {
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(problems...)
}

func (w *worker) learnTools(ctx context.Context, source *worldSource) error {
	e := w.engine
	first := &liveRun{engine: e, source: source, inspect: func(ctx context.Context, world *World) (err error) {
		if source.hasRegistry = world.Tools != nil; source.hasRegistry {
			source.tools, err = world.Tools.Tools(ctx)
		}
		return err
	}}
	s := w.execute(ctx, first, w.calmBubble(source))
	switch {
	case s.cancelled:
		return fmt.Errorf("contract: %s: %w", source.firstWorld(), ctx.Err())
	case s.undecided != nil && s.lingering: // the tools are known, and each cell reports its own problems
		e.warn(fmt.Sprintf("%s: %v", source.firstWorld(), s.undecided))
	case s.undecided != nil:
		return fmt.Errorf("contract: %s: %w", source.firstWorld(), s.undecided)
	case s.warning != "":
		e.warn(s.warning)
	}
	source.known = slices.Clone(e.m.Points)
	if source.hasRegistry {
		source.known = append(source.known, chaos.ListTarget)
		for _, t := range source.tools {
			source.known = append(source.known, t.Name)
		}
	}
	return nil
}

// checkTargets returns an error if a rule's target matches no known name and must: with
// StrictPoints, or if it is for tools and there is no registry. Other such targets may
// be points that the agent reaches.
func (e *engine) checkTargets(s *compiledScenario) error {
	known, hasRegistry := s.source.known, s.source.hasRegistry
	if len(s.Rules) == 0 || hasRegistry && !e.m.StrictPoints {
		return nil
	}
	var must []chaos.Rule
	for _, r := range s.plan.Rules() {
		if e.m.StrictPoints || layerOf(r, e.m.Points) == chaos.LayerTool {
			must = append(must, r)
		}
	}
	plan, err := s.plan.With(must...) // nothing of them has changed
	if err == nil {
		err = plan.CheckTargets(known...)
	}
	if err == nil {
		return nil
	}
	if !hasRegistry {
		err = fmt.Errorf("%w\nfaults on tools need an explicit list of callables or a tool registry: supply World.Tools (chaos.NewRegistry makes one of Go functions), or declare wrapped functions, streams and transports in Matrix.Points", err)
	}
	p := fields.List()
	if s.index < 0 {
		p.Each("rules", err)
	} else {
		p.Each(fmt.Sprintf("Scenarios[%d].Rules", s.index), err)
	}
	return p.Err()
}

// warnOfIdleTargets warns of each glob of an invariant that matches no target in any world.
func (e *engine) warnOfIdleTargets(inv *Invariant, sources []*worldSource) {
	for _, pattern := range inv.Targets {
		g, err := glob.Compile(pattern)
		matches := func(s *worldSource) bool { return slices.ContainsFunc(s.known, g.Match) }
		if err == nil && !slices.ContainsFunc(sources, matches) {
			e.warn(fmt.Sprintf("Invariant %s looks for calls of %q, and no tool or declared point has such a name.",
				inv.Name, pattern))
		}
	}
}

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
	var room [64]byte
	return s.plan.Injector(string(strconv.AppendInt(append(append(room[:0], s.Name...), '/'), int64(trial), 10)), o)
}
