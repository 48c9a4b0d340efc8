package trace

import (
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A NodeRule gives the injection points that a glob matches their type of node.
type NodeRule struct {
	_ struct{}
	// Target is a glob over the names of injection points, as in [chaos.Rule]. Required.
	Target string
	// Type is what the points are. Required.
	Type timeline.NodeType
}

// defaultRules stand after those of the options. They are for points whose
// layer says nothing of the node: a wrapped client of a model is a point like any other.
func defaultRules() []NodeRule {
	return []NodeRule{
		{Target: "{llm,model}{,.*,/*}", Type: timeline.NodeLLM},
		{Target: "http{,s}{,.*,/*,:*}", Type: timeline.NodeHTTP},
		{Target: "{tool,tools}{.*,/*}", Type: timeline.NodeTool},
		{Target: "agent{,.*,/*}", Type: timeline.NodeAgent},
		{Target: "*", Type: timeline.NodePoint},
	}
}

// types tells the type of a target by the first rule that matches it. What was
// found is remembered in a map that is replaced whole, so that reading it takes
// no lock.
type types struct {
	rules []typeRule
	given int // of the rules, those of the options
	known atomic.Pointer[map[string]nodeType]
}

// nodeType is what a target was found to be, and whether by a rule of the options.
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

// compile reads the rules of the options, then the default ones.
func (t *types) compile(rules []NodeRule) error {
	var wrong problems
	t.given = len(rules)
	for i, r := range append(rules[:len(rules):len(rules)], defaultRules()...) {
		g, err := glob.Compile(r.Target)
		if err != nil {
			wrong.add(&InputError{Field: fmt.Sprintf("types[%d].target", i), Value: r.Target, Err: err,
				Allowed: `a glob over names of injection points, such as "orders.*"`})
		}
		switch r.Type {
		case timeline.NodeAgent, timeline.NodeTool, timeline.NodeLLM, timeline.NodeHTTP, timeline.NodePoint:
		default:
			wrong.add(&InputError{Field: fmt.Sprintf("types[%d].type", i), Value: string(r.Type), Allowed: "agent, tool, llm, http or point"})
		}
		t.rules = append(t.rules, typeRule{g, r.Type})
	}
	t.known.Store(&map[string]nodeType{})
	return wrong.join()
}

// of is the type of an injection point: what the options say, else what its
// layer does, else what its name suggests.
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
