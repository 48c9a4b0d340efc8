package contract

import (
	"fmt"
	"strconv"

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
}

func compileScenario(index int, s Scenario, plan *chaos.Plan, points []string) *compiledScenario {
	c := &compiledScenario{Scenario: s, index: index, plan: plan}
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
// declared point, else a tool.
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
