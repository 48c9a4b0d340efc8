package when

import (
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// A Stage is one part of [Stages]. It lasts for the time For, or for a number
// of Calls. All stages use the same of the two. In the last stage both may be
// 0: it lasts for good.
type Stage struct {
	_ struct{}
	// For is how long the stage lasts.
	For time.Duration
	// Calls is how many calls of a lane to a target the stage lasts.
	Calls int
	// When says which calls of the stage are matched; required. Prob(0) matches
	// none. In a stage of calls, counting triggers count from the beginning of the
	// stage; triggers that look at the clock always count from when the injector
	// was armed.
	When chaos.When
}

// Stages go through a list of triggers, from the first call or from when the
// injector was armed: a deployment that goes wrong by degrees, an outage that
// ends slowly. After the last stage nothing is matched, unless it lasts for
// good. At least one stage. The triggers of the stages draw independently.
//
// All stages are by the clock or all by calls: without memory, the end of one
// sort cannot be computed from the other.
func Stages(list ...Stage) chaos.When {
	w := stages{list: slices.Clone(list)}
	for _, s := range list {
		w.timed = w.timed || s.For != 0
	}
	if slices.ContainsFunc(list, wantsArgs) {
		return stagesArgs{w}
	}
	return w
}

func wantsArgs(s Stage) bool {
	_, ok := s.When.(chaos.ArgsWhen)
	return ok
}

type stages struct {
	list  []Stage
	timed bool // by the clock
}

func (w stages) Match(c chaos.Call) bool {
	part, c := w.at(c)
	return part != nil && part.Match(c)
}

type stagesArgs struct{ stages }

func (w stagesArgs) MatchArgs(c chaos.Call, args any) bool {
	part, c := w.at(c)
	return matchArgs(part, c, args)
}

// at returns the trigger in force at a call, nil: none, and the call as that
// trigger sees it.
func (w stages) at(c chaos.Call) (chaos.When, chaos.Call) {
	if w.timed {
		return w.atTime(c)
	}
	begin := uint64(0)
	for i, s := range w.list {
		lasts := uint64(max(s.Calls, 0))
		if c.Ordinal-begin < lasts || lasts == 0 && i == len(w.list)-1 {
			return s.When, c.At(c.Occurrence, c.Ordinal-begin).Sub(i)
		}
		begin += lasts
	}
	return nil, c
}

func (w stages) atTime(c chaos.Call) (chaos.When, chaos.Call) {
	left := c.Elapsed()
	for i, s := range w.list {
		if left < s.For || s.For <= 0 && i == len(w.list)-1 {
			return s.When, c.Sub(i)
		}
		left -= max(s.For, 0)
	}
	return nil, c
}

func (w stages) Check() error {
	c := param.Check{Kind: "stages"}
	c.That(len(w.list) > 0, "stages", "empty", "at least one stage")
	for i, s := range w.list {
		w.checkStage(&c, i, s)
	}
	return c.Err()
}

func (w stages) checkStage(c *param.Check, i int, s Stage) {
	at := func(field string) string { return fmt.Sprintf("stages[%d].%s", i, field) }
	last := i == len(w.list)-1
	c.Wait(at("for"), s.For)
	c.That(s.Calls >= 0, at("calls"), s.Calls, "a number of calls, 0 or more")
	switch {
	case w.timed:
		c.That(s.Calls <= 0, at("calls"), s.Calls, "0: other stages last for a time")
		c.That(s.For != 0 || last, at("for"), s.For, "a duration of more than 0: only the last stage lasts for good")
	default:
		c.That(s.Calls != 0 || last, at("calls"), s.Calls, "a number of calls, at least 1: only the last stage lasts for good")
	}
	c.That(s.When != nil, at("when"), nil, "a trigger; Prob(0) is calm")
	c.Part(at("when"), s.When)
}

func (w stages) Describe() chaos.Description {
	type stage struct {
		For   string            `json:"for,omitempty"`
		Calls int               `json:"calls,omitempty"`
		When  chaos.Description `json:"when"`
	}
	list := make([]stage, len(w.list))
	for i, s := range w.list {
		list[i] = stage{Calls: s.Calls, When: describePart(s.When)}
		if s.For != 0 {
			list[i].For = s.For.String()
		}
	}
	return describe("stages", struct {
		Stages []stage `json:"stages"`
	}{list})
}
