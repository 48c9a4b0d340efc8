package invariant

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// until is a call with a context that ends at a time.
func until(deadline time.Duration, e chaos.Event) chaos.Event {
	e.Deadline, e.Layer = deadline, chaos.LayerTool
	return e
}

// edited is an event after a change.
func edited(e chaos.Event, change func(*chaos.Event)) chaos.Event {
	change(&e)
	return e
}

func TestCallsWithin(t *testing.T) {
	inv := CallsWithin("x", contract.High, 5*ms, "orders.*")
	assert.True(t, inv.JudgesErrors)
	open := func(e chaos.Event) chaos.Event {
		return edited(e, func(e *chaos.Event) { e.Outcome = chaos.OutcomeOpen })
	}
	at := func(l chaos.Layer, e chaos.Event) chaos.Event {
		return edited(e, func(e *chaos.Event) { e.Layer = l })
	}
	by := func(e chaos.Event, kind string, also ...string) chaos.Event {
		return edited(e, func(e *chaos.Event) { e.Delivered, e.Fault, e.Also = true, kind, also })
	}
	late := until(10*ms, call("orders.get", 0, 16*ms))
	table(t, []row{
		{"no call", inv, made(0), holds, ""},
		{"no deadline", inv, made(0, call("orders.get", 0, time.Hour)), holds, ""},
		{"before its deadline", inv, made(0, until(10*ms, call("orders.get", 0, 9*ms))), holds, ""},
		{"as late as is allowed", inv, made(0, until(10*ms, call("orders.get", 0, 15*ms))), holds, ""},
		{"later", inv, made(0, late), breaks, "a call ended 6ms after its deadline, at most 5ms is allowed: orders.get at 0s"},
		{"one that failed is judged too", inv, made(0, until(10*ms, failed("orders.get", 1, 0, 16*ms))), breaks, ""},
		{"an injection by name is no call", inv, made(0, at("", late)), holds, ""},
		{"it began after its deadline: that is another invariant's", inv, made(0, until(-ms, call("orders.get", 10*ms, 10*ms))), holds, ""},
		{"it began after its deadline, and took too long", inv, made(0, until(-ms, call("orders.get", 10*ms, 16*ms))), breaks, "ended 6ms after"},
		{"a fault had it executed twice", inv, made(0, by(late, "duplicate")), unclear, "a fault may have kept"},
		{"still under way", inv, made(0, open(late)), breaks, "a call had not ended 6ms after its deadline"},
		{"still under way, and it had time", inv, made(0, open(until(10*ms, call("orders.get", 0, 12*ms)))), unclear, "the cell ended before"},
		{"an answer that nobody closed", inv, made(0, open(at(chaos.LayerHTTP, late))), unclear, "nobody read"},
		{"a fault hid the context", inv, made(0, by(late, "ignored_cancellation")), unclear, "a fault may have kept"},
		{"a doubt does not hide a break", inv, made(0, by(late, "ignored_cancellation"), late), breaks, ""},
		{"calls are missing", inv, made(1), unclear, ""},
		{"broken although calls are missing", inv, made(1, late), breaks, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"d is -1ns":    CallsWithin("x", contract.High, -1, "a"),
		`target is ""`: CallsWithin("x", contract.High, 0, ""),
	})
}

func TestNothingAfterEnd(t *testing.T) {
	inv := NothingAfterEnd("x", contract.High, "audit.*")
	assert.True(t, inv.JudgesErrors)
	assert.Empty(t, inv.Targets, "a matrix without the allowed ones is no reason for a warning")
	over := func(e chaos.Event) chaos.Event {
		return edited(e, func(e *chaos.Event) { e.ContextEnded = true })
	}
	cancelled := over(until(0, call("refund", 3*ms, 4*ms)))
	failing := answer("")
	failing.Err, failing.Events = errors.New("gave up"), []chaos.Event{cancelled}
	table(t, []row{
		{"no call", inv, made(0), holds, ""},
		{"no deadline", inv, made(0, call("refund", 0, ms)), holds, ""},
		{"before its deadline", inv, made(0, until(2*ms, call("refund", ms, 9*ms))), holds, ""},
		{"after its deadline", inv, made(0, over(until(2*ms, call("refund", 3*ms, 3*ms)))), breaks,
			"1 calls began after their context had ended: refund at 3ms"},
		{"in the moment of its deadline", inv, made(0, over(until(3*ms, call("refund", 3*ms, 4*ms)))), holds, ""},
		{"once more in the moment of the deadline, which the caller knew from the call before", inv,
			made(0, until(3*ms, failed("refund", 1, ms, 3*ms)), edited(over(until(3*ms, failed("refund", 2, 3*ms, 3*ms))), func(e *chaos.Event) { e.Call = 2 })), breaks,
			"1 calls began after"},
		{"once more, and what failed before had failed by itself", inv,
			made(0, until(3*ms, failed("refund", 1, ms, 2*ms)), edited(over(until(3*ms, failed("refund", 2, 3*ms, 3*ms))), func(e *chaos.Event) { e.Call = 2 })), holds, ""},
		{"cancelled", inv, made(0, cancelled), breaks, ""},
		{"in the moment of its deadline, which is that of the clock", inv, made(0, over(until(1, call("refund", 0, ms)))), holds, ""},
		{"an agent that failed", inv, failing, breaks, ""},
		{"allowed", inv, made(0, over(until(0, call("audit.write", 3*ms, 4*ms)))), holds, ""},
		{"an injection by name is no call", inv, made(0, edited(cancelled, func(e *chaos.Event) { e.Layer = "" })), holds, ""},
		{"calls are missing", inv, made(1), unclear, ""},
		{"broken although calls are missing", inv, made(1, cancelled), breaks, ""},
	})
	misuse(t, map[string]contract.Invariant{`allowed[0] is "["`: NothingAfterEnd("x", contract.High, "[")})
}

// Each call is judged by itself, whatever stands beside it: one broken call breaks the cell, and nothing else does.
func TestEndsAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := ms * time.Duration(rapid.IntRange(0, 3).Draw(t, "d"))
		var events []chaos.Event
		var lasts, begins []outcome
		for range rapid.IntRange(0, 5).Draw(t, "calls") {
			start := ms * time.Duration(rapid.IntRange(0, 5).Draw(t, "start"))
			e := call(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target"), start, start+ms*time.Duration(rapid.IntRange(0, 5).Draw(t, "took")))
			e = until(ms*time.Duration(rapid.IntRange(-2, 8).Draw(t, "deadline")), e)
			e.ContextEnded = e.Deadline != 0 && e.Deadline <= e.Start || rapid.Bool().Draw(t, "cancelled")
			if rapid.Bool().Draw(t, "open") {
				e.Outcome = chaos.OutcomeOpen
			}
			events = append(events, e)
			last := holds
			if e.Target == "a" && e.Deadline != 0 {
				switch over := e.End > max(e.Deadline, e.Start)+d; {
				case over:
					last = breaks
				case e.Outcome == chaos.OutcomeOpen:
					last = unclear
				}
			}
			begin := holds
			if e.Target == "a" && e.ContextEnded && (e.Deadline == 0 || e.Deadline != e.Start) {
				begin = breaks
			}
			lasts, begins = append(lasts, last), append(begins, begin)
		}
		worst := func(all []outcome) outcome {
			switch {
			case slices.Contains(all, breaks):
				return breaks
			case slices.Contains(all, unclear):
				return unclear
			}
			return holds
		}
		o := made(0, events...)
		assert.Equal(t, worst(lasts), outcomeOf(CallsWithin("x", contract.High, d, "a").Check(t.Context(), &o)))
		assert.Equal(t, worst(begins), outcomeOf(NothingAfterEnd("x", contract.High, "b").Check(t.Context(), &o)))
	})
}
