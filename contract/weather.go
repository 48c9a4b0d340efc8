package contract

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// weather is a scenario made ready: its plan, and what it strikes.
type weather struct {
	Scenario
	index     int
	plan      *chaos.Plan
	tool, llm bool // some rule strikes that layer
	promises  []*promise
}

func newWeather(index int, s Scenario, plan *chaos.Plan, points []string) *weather {
	w := &weather{Scenario: s, index: index, plan: plan}
	for _, r := range plan.Rules() {
		switch layerOf(r, points) {
		case chaos.LayerTool:
			w.tool = true
		case chaos.LayerLLM:
			w.llm = true
		}
	}
	return w
}

// layerOf is the layer a rule strikes: its own word, that of its fault, else
// that of the point: a declared one if the target matches there alone, or a
// tool. The events of a stream may be those of a model: there the point decides.
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

// pointLayer is the layer of what a target matches. Of a declared point only
// its name is known, which tells calls of models.
func pointLayer(target string, points []string) chaos.Layer {
	g, err := glob.Compile(target)
	if err != nil {
		return chaos.LayerTool
	}
	layer := chaos.LayerTool
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

func (w *weather) applies(a Applies) bool {
	switch a {
	case ToolFaults:
		return w.tool
	case LLMFaults:
		return w.llm
	case AnyFault:
		return len(w.Rules) > 0
	case NoFault:
		return len(w.Rules) == 0
	}
	return true
}

// injector makes the injector of one cell. Its name leaves the invariant out,
// so that all invariants of a trial see the same weather.
func (w *weather) injector(trial int, values bool) *chaos.Injector {
	return w.plan.Injector(w.Name+"/"+strconv.Itoa(trial), &chaos.InjectorOptions{RecordAll: true, KeepValues: values})
}

// checkTargets refuses rules that can strike nothing in the world as it is.
func (w *weather) checkTargets(targets []string, hasRegistry bool) error {
	if len(w.Rules) == 0 {
		return nil
	}
	err := w.plan.CheckTargets(targets...)
	if err == nil {
		return nil
	}
	if !hasRegistry {
		err = fmt.Errorf("%w\nfaults on tools need an explicit list of callables or a tool registry: supply World.Tools (chaos.NewRegistry makes one of Go functions), or declare wrapped functions, streams and transports in Matrix.Points", err)
	}
	var p problems
	p.addAll(fmt.Sprintf("Scenarios[%d].Rules", w.index), err)
	return errors.Join(p...)
}

// targets are the injection points of a world as far as they are known.
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

// idleTargets warns of what an invariant looks for where there is no such thing.
func idleTargets(inv *Invariant, targets []string) (warnings []string) {
	for _, pattern := range inv.Targets {
		g, err := glob.Compile(pattern)
		if err == nil && !slices.ContainsFunc(targets, g.Match) {
			warnings = append(warnings, fmt.Sprintf("Invariant %s looks for calls of %q, and no tool or declared point has such a name.", inv.Name, pattern))
		}
	}
	return warnings
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
