package trace

import (
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/modelapi"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A NodeRule gives a node type to the injection points that a glob matches.
type NodeRule struct {
	_ struct{}
	// Target is a glob over the names of injection points, as in [chaos.Rule]. Required.
	Target string
	// Type is the type of those points. Required.
	Type timeline.NodeType
}

// defaultRules follow those of the options. They are for points whose layer does
// not give the node type: a wrapped client of a model is a point like any other.
func defaultRules() []NodeRule {
	return []NodeRule{
		{Target: modelapi.Named, Type: timeline.NodeLLM},
		{Target: "http{,s}{,.*,/*,:*}", Type: timeline.NodeHTTP},
		{Target: "{tool,tools}{.*,/*}", Type: timeline.NodeTool},
		{Target: "agent{,.*,/*}", Type: timeline.NodeAgent},
		{Target: "*", Type: timeline.NodePoint},
	}
}

// types finds the type of a target by the first rule that matches it. Results are
// cached in a map that is replaced as a whole, so that reading it takes no lock.
type types struct {
	rules []typeRule
	given int // the number of rules that come from the options
	known atomic.Pointer[map[string]nodeType]
}

// nodeType is the type of a target, and whether a rule of the options gave it.
type nodeType struct {
	timeline.NodeType
	given bool
}

type typeRule struct {
	*glob.Glob
	is timeline.NodeType
}

// maxKnown bounds the targets remembered; others are matched each time.
const maxKnown = 1024

// compile compiles the rules of the options, then the default ones.
func (t *types) compile(rules []NodeRule) error {
	wrong := fields.ListUpTo(maxReported)
	t.given = len(rules)
	for i, r := range append(rules[:len(rules):len(rules)], defaultRules()...) {
		g, err := glob.Compile(r.Target)
		if err != nil {
			wrong.Because(fmt.Sprintf("types[%d].target", i), r.Target, err,
				`a glob over names of injection points, such as "orders.*"`)
		}
		switch r.Type {
		case timeline.NodeAgent, timeline.NodeTool, timeline.NodeLLM, timeline.NodeHTTP, timeline.NodePoint:
		default:
			wrong.Wrong(fmt.Sprintf("types[%d].type", i), string(r.Type), "agent, tool, llm, http or point")
		}
		t.rules = append(t.rules, typeRule{g, r.Type})
	}
	t.known.Store(&map[string]nodeType{})
	return wrong.Err()
}

// of returns the type of an injection point: by the options, else by its layer,
// else by its name.
func (t *types) of(target string, layer chaos.Layer) timeline.NodeType {
	is, known := (*t.known.Load())[target]
	if !known {
		is = t.learn(target)
	}
	if is.given {
		return is.NodeType
	}
	switch layer {
	case chaos.LayerTool:
		return timeline.NodeTool
	case chaos.LayerLLM:
		return timeline.NodeLLM
	case chaos.LayerHTTP:
		return timeline.NodeHTTP
	}
	return is.NodeType
}

func (t *types) learn(target string) nodeType {
	is := nodeType{NodeType: timeline.NodePoint}
	for i, r := range t.rules {
		if r.Match(target) {
			is = nodeType{r.is, i < t.given}
			break
		}
	}
	for {
		known := t.known.Load()
		if len(*known) >= maxKnown {
			return is
		}
		next := maps.Clone(*known)
		next[target] = is
		if t.known.CompareAndSwap(known, &next) {
			return is
		}
	}
}
