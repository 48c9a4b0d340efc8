package findings

import (
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// Calls returns the calls in the events of a cell, as their agent saw them, in the order
// of the events, which must be that in which the calls began, as in an observation. It
// leaves out the listing of tools, [chaos.ListTarget]. A point is a model if its layer is
// that of a model, or if its name says so: an endpoint of a provider, "llm", "model", and
// names that begin so with a dot or a slash behind. Every other point is a tool.
//
// Arguments and results are those that the events kept ([chaos.InjectorOptions].KeepValues);
// without them ArgsHash is the event's key, which equal arguments share, and Result is
// Missing. Parent is the last call to the event's Caller during which the call was made.
// Effect is the event's; of a call that failed it is Unknown if another call of the target
// had an effect. Else nothing in the events says that the target has effects, and Effect is
// empty: that is what [Options].Tools is for.
func Calls(events []chaos.Event) []Call {
	calls := make([]Call, 0, len(events))
	effective := make(map[string]bool)
	for i := range events {
		if events[i].Effect == chaos.EffectDone {
			effective[events[i].Target] = true
		}
	}
	models, _ := glob.Compile(modelapi.Named)
	p := parents{open: make(map[string][]int)}
	for i := range events {
		e := &events[i]
		if e.Target == chaos.ListTarget {
			continue
		}
		c := Call{Type: typeOf(e, models), Tool: e.Target, Lane: e.Lane, Args: e.Args, At: e.Start,
			Took: e.End - e.Start, ofHabit: e.Habit != ""}
		switch {
		case len(e.Args) > 0:
		case e.Key != jsonhash.Sum(nil) && e.Key != 0:
			c.ArgsHash = strconv.FormatUint(e.Key, 16)
		case e.Key == 0:
			c.Missing = append(c.Missing, Args)
		}
		switch {
		case e.Outcome == "", e.Outcome == chaos.OutcomeOpen: // it has begun, and not ended
			c.Missing = append(c.Missing, Result, End)
		case e.Outcome == chaos.OutcomeOK:
			if c.Result = e.Result; len(e.Result) == 0 {
				c.Missing = append(c.Missing, Result)
			}
		default:
			c.Error = &CallError{Text: e.Err}
		}
		c.Effect = effectOfEvent(e, effective[e.Target])
		p.add(&c, e.Caller, len(calls)+1)
		calls = append(calls, c)
	}
	return calls
}

func effectOfEvent(e *chaos.Event, effective bool) Effect {
	switch {
	case e.Effect == chaos.EffectDone:
		return Done
	case e.Effect == chaos.EffectNone:
		return NotDone
	case effective && e.Outcome != chaos.OutcomeOK:
		return Unknown
	}
	return ""
}

func typeOf(e *chaos.Event, models *glob.Glob) Type {
	if e.Layer == chaos.LayerTool {
		return Tool
	}
	if e.Layer == chaos.LayerLLM || modelapi.IsCall(e.Target) || models.Match(e.Target) {
		return Model
	}
	return Tool
}

// parents finds the calls within which others were made.
type parents struct {
	open map[string][]int // numbers of the calls of a target that may not have ended
	ends []time.Duration  // of each call
}

// add finds the parent of a call, and adds the call under its number.
func (p *parents) add(c *Call, caller string, number int) {
	end := c.At + c.Took
	if caller != "" {
		open := p.open[caller]
		for len(open) > 0 && p.ends[open[len(open)-1]-1] < c.At {
			open = open[:len(open)-1]
		}
		if p.open[caller] = open; len(open) > 0 {
			c.Parent = open[len(open)-1]
		}
	}
	p.open[c.Tool] = append(p.open[c.Tool], number)
	p.ends = append(p.ends, end)
}
