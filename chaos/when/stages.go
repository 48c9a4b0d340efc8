package when

import (
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A Stage is one part of [Stages]. It lasts for the time For, or for a number
// of Calls. All stages use the same of the two. In the last stage both may be
// 0: it lasts for good.
type Stage struct {
	_ struct{}
	// For is how long the stage lasts.
	For time.Duration `json:"for,omitempty" bounds:"min=0" doc:"how long the stage lasts; left out in the last: for good"`
	// Calls is how many calls of a lane to a target the stage lasts.
	Calls int `json:"calls,omitempty" bounds:"min=0" allowed:"a number of calls, 0 or more" doc:"how many calls it lasts, where stages do not go by the clock"`
	// When says which calls of the stage are matched; required. Prob(0) matches
	// none. In a stage of calls, counting triggers count from the beginning of the
	// stage; triggers that look at the clock always count from when the injector
	// was armed.
	When chaos.When `json:"when" doc:"which of its calls"`
}

// Stages go through a list of triggers, from the first call or from when the
// injector was armed: a deployment that goes wrong by degrees, an outage that
// ends slowly. After the last stage nothing is matched, unless it lasts for
// good. At least one stage. The triggers of the stages draw independently.
//
// All stages are by the clock or all by calls: without memory, the end of one
// sort cannot be computed from the other.
func Stages(list ...Stage) chaos.When { return stages.Of(stageList{Stages: slices.Clone(list)}) }

var stages = &catalog.Match[stageList]{
	Row: catalog.Row{Kind: "stages", Doc: "Triggers that follow one another.", Go: "when.Stages(list...)",
		Example: `{"stages":[{"for":"1m0s","when":{"kind":"prob","params":{"p":0.1}}},{"when":{"kind":"always"}}]}`,
		Order:   catalog.Sequential},
	Prepare: func(p stageList) stageList {
		p.timed = slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.For != 0 })
		return p
	},
	Match: func(p stageList, c chaos.Call) bool {
		part, c := p.inForce(c)
		return part != nil && part.Match(c)
	},
	MatchArgs: func(p stageList, c chaos.Call, args any) bool {
		part, c := p.inForce(c)
		return matchArgs(part, c, args)
	},
	WantsArgs: func(p stageList) bool {
		return slices.ContainsFunc(p.Stages, func(s Stage) bool { return wantsArgs(s.When) })
	},
}

type stageList struct {
	Stages []Stage `json:"stages" bounds:"min=1" allowed:"at least one stage" doc:"in order; all by the clock or all by calls"`
	timed  bool    // by the clock
}

// inForce returns the trigger in force at a call, nil: none, and the call as that
// trigger sees it.
func (p stageList) inForce(c chaos.Call) (chaos.When, chaos.Call) {
	if p.timed {
		return p.atTime(c)
	}
	begin := uint64(0)
	for i, s := range p.Stages {
		lasts := uint64(max(s.Calls, 0))
		if c.Ordinal-begin < lasts || lasts == 0 && i == len(p.Stages)-1 {
			return s.When, c.At(c.Occurrence, c.Ordinal-begin).Sub(i)
		}
		begin += lasts
	}
	return nil, c
}

func (p stageList) atTime(c chaos.Call) (chaos.When, chaos.Call) {
	left := c.Elapsed()
	for i, s := range p.Stages {
		if left < s.For || s.For <= 0 && i == len(p.Stages)-1 {
			return s.When, c.Sub(i)
		}
		left -= max(s.For, 0)
	}
	return nil, c
}

func (p stageList) Check(c *catalog.Check) {
	for i, s := range p.Stages {
		p.checkStage(c, i, s)
	}
}

func (p stageList) checkStage(c *catalog.Check, i int, s Stage) {
	place := func(field string) string { return fmt.Sprintf("stages[%d].%s", i, field) }
	last := i == len(p.Stages)-1
	switch {
	case p.timed:
		c.That(s.Calls <= 0, place("calls"), s.Calls, "0: other stages last for a time")
		c.That(s.For != 0 || last, place("for"), s.For, "a duration of more than 0: only the last stage lasts for good")
	default:
		c.That(s.Calls != 0 || last, place("calls"), s.Calls,
			"a number of calls, at least 1: only the last stage lasts for good")
	}
	c.That(s.When != nil, place("when"), nil, "a trigger; Prob(0) matches no call")
	c.Part(place("when"), s.When)
}
