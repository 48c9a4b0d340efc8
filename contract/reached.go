package contract

import (
	"bytes"

	"github.com/shakedown-go/shakedown/chaos"
)

// reachedAgent reports whether some delivered fault is known to have reached the
// agent itself. A fault on a call that a tool made reaches it if each call around
// that one passes the outcome on. Otherwise the tool recovered, or turned it into
// something that cannot be distinguished from a result of the tool's own.
func reachedAgent(observations []*Observation) bool {
	within := map[string][]*chaos.Event{} // calls by target: those that others may be in
	var open []*chaos.Event               // delivered, on calls that other calls made
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			within[e.Target] = append(within[e.Target], e)
			switch {
			case !e.Delivered:
			case e.Caller == "":
				return true
			default:
				open = append(open, e)
			}
		}
	}
	seen := map[*chaos.Event]bool{}
	for len(open) > 0 {
		e := open[len(open)-1]
		open = open[:len(open)-1]
		for _, around := range within[e.Caller] {
			switch {
			case seen[around] || !passesOn(around, e):
			case around.Caller == "":
				return true
			default:
				seen[around] = true
				open = append(open, around)
			}
		}
	}
	return false
}

// passesOn reports whether one call lasted around another and let its outcome
// through: the injected error, the wait, or the very result.
func passesOn(around, e *chaos.Event) bool {
	switch {
	case around == e || around.Start > e.Start || around.End < e.End:
		return false
	case e.Outcome == chaos.OutcomeInjected:
		return around.Outcome == chaos.OutcomeInjected
	case e.Outcome == chaos.OutcomePanicked:
		return around.Outcome == chaos.OutcomePanicked
	}
	return e.Spent > 0 || len(e.Result) > 0 && bytes.Equal(e.Result, around.Result)
}
