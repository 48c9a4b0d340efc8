package when

import (
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// All matches the calls that every part matches. The parts draw independently:
// All(Prob(0.5), Prob(0.5)) matches a quarter of the calls. At least one part.
func All(parts ...chaos.When) chaos.When { return all.Of(partList{slices.Clone(parts)}) }

var all = &catalog.Own[partList, chaos.When]{
	Row: catalog.Row{Kind: "all", Doc: "The calls that all parts match.", Go: "when.All(parts...)",
		Example: `{"parts":[{"kind":"after","params":{"n":2}},{"kind":"prob","params":{"p":0.5}}]}`},
	Make: func(m catalog.Made[partList]) chaos.When { return combine(m, m.Params.Parts, false, false) },
}

type partList struct {
	Parts []chaos.When `json:"parts" bounds:"min=1" allowed:"at least one trigger" doc:"triggers that draw independently"`
}

// Any matches the calls that at least one part matches. The parts draw
// independently. At least one part.
func Any(parts ...chaos.When) chaos.When { return anyOf.Of(partList{slices.Clone(parts)}) }

var anyOf = &catalog.Own[partList, chaos.When]{
	Row: catalog.Row{Kind: "any", Doc: "The calls that one of the parts matches.", Go: "when.Any(parts...)",
		Example: `{"parts":[{"kind":"nth","params":{"n":[1]}},{"kind":"every","params":{"n":10}}]}`},
	Make: func(m catalog.Made[partList]) chaos.When { return combine(m, m.Params.Parts, true, true) },
}

// Not matches the calls that part does not match.
func Not(part chaos.When) chaos.When { return not.Of(onePart{[]chaos.When{part}}) }

var not = &catalog.Own[onePart, chaos.When]{
	Row: catalog.Row{Kind: "not", Doc: "The calls that the part does not match.", Go: "when.Not(part)",
		Example: `{"parts":[{"kind":"first","params":{"n":1}}]}`},
	Make: func(m catalog.Made[onePart]) chaos.When { return combine(m, m.Params.Parts, false, true) },
}

// onePart is a partList with other bounds.
type onePart struct {
	Parts []chaos.When `json:"parts" bounds:"min=1,max=1" allowed:"one trigger" doc:"the trigger, a list of one"`
}

func (p onePart) Check(c *catalog.Check) { partList(p).Check(c) }

// Check adds the problems of the parts, each with the position of its part.
func (p partList) Check(c *catalog.Check) {
	for i, part := range p.Parts {
		place := fmt.Sprintf("parts[%d]", i)
		c.That(part != nil, place, nil, "a trigger")
		c.Part(place, part)
	}
}

// made is what a combined trigger was made of.
type made interface {
	chaos.Checked
	chaos.Described
}

// combined asks its parts in order until one answers stop. Its own answer is then
// that of then, otherwise the opposite. A nil part never matches, and Check reports
// it.
type combined struct {
	made
	parts      []chaos.When
	stop, then bool
}

// combine makes an ArgsWhen only if a part needs the arguments, which cost an
// allocation on every call.
func combine(m made, parts []chaos.When, stop, then bool) chaos.When {
	w := &combined{m, parts, stop, then}
	if slices.ContainsFunc(parts, wantsArgs) {
		return combinedArgs{w}
	}
	return w
}

func wantsArgs(part chaos.When) bool {
	_, ok := part.(chaos.ArgsWhen)
	return ok
}

func (w *combined) Match(c chaos.Call) bool {
	for i, part := range w.parts {
		if (part != nil && part.Match(c.Sub(i))) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.parts) > 0
}

type combinedArgs struct{ *combined }

func (w combinedArgs) MatchArgs(c chaos.Call, args any) bool {
	for i, part := range w.parts {
		if matchArgs(part, c.Sub(i), args) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.parts) > 0
}

func matchArgs(part chaos.When, c chaos.Call, args any) bool {
	if a, ok := part.(chaos.ArgsWhen); ok {
		return a.MatchArgs(c, args)
	}
	return part != nil && part.Match(c)
}

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
		place := func(field string) string { return fmt.Sprintf("stages[%d].%s", i, field) }
		last := i == len(p.Stages)-1
		if p.timed {
			c.That(s.Calls <= 0, place("calls"), s.Calls, "0: other stages last for a time")
			c.That(s.For != 0 || last, place("for"), s.For, "a duration of more than 0: only the last stage lasts for good")
		} else {
			c.That(s.Calls != 0 || last, place("calls"), s.Calls,
				"a number of calls, at least 1: only the last stage lasts for good")
		}
		c.That(s.When != nil, place("when"), nil, "a trigger; Prob(0) matches no call")
		c.Part(place("when"), s.When)
	}
}
