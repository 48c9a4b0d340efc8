package invariant

import (
	"encoding/json"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// deskTools declare what the calls of these tests need.
var deskTools = [...]chaos.Tool{
	{Name: "refund", Effect: chaos.EffectDone}, {Name: "get", Effect: chaos.EffectNone}, {Name: "write"},
}

// asked is a call of a tool for an order.
func asked(tool, order string) chaos.Event {
	does := chaos.EffectDone
	if tool == "get" {
		does = chaos.EffectNone
	}
	return chaos.Event{Target: tool, Layer: chaos.LayerTool, Args: json.RawMessage(`{"order":"` + order + `"}`),
		Result: json.RawMessage(`"ok"`), Outcome: chaos.OutcomeOK, Effect: does}
}

// failedFor is one that failed, with what became of its work.
func failedFor(tool, order, why string, effect chaos.Effect) chaos.Event {
	e := asked(tool, order)
	e.Result, e.Outcome, e.Err, e.Effect = nil, chaos.OutcomeFailed, why, effect
	return e
}

func seen(answer string, events ...chaos.Event) contract.Observation {
	return contract.Observation{Prompt: "Refund A-1042.", Response: answer, Events: events, Tools: deskTools[:]}
}

func cut(o contract.Observation) contract.Observation {
	o.Dropped = 3
	return o
}

func inOtherLane(e chaos.Event) chaos.Event {
	e.Lane = "b"
	return e
}

const (
	unknown = chaos.EffectUnknown
	nothing = chaos.EffectNone
	isDone  = chaos.EffectDone
	a, b    = "A-1042", "B-2000"
	timeout = "i/o timeout"
	refused = "403 Forbidden"
)

func TestRetriesAtMost(t *testing.T) {
	bad := failedFor("refund", a, timeout, nothing)
	most := func(n int, target string) contract.Invariant { return RetriesAtMost("x", contract.High, n, target) }
	byHabit := func(e chaos.Event) chaos.Event { e.Habit = "retries"; return e }
	table(t, []row{
		{"no call", most(0, "*"), seen(""), holds, ""},
		{"a failure and no retry", most(0, "*"), seen("", bad), holds, ""},
		{"a retry, none is allowed", most(0, "*"), seen("", bad, asked("refund", a)), breaks,
			`1 retry of "refund", at most 0 are allowed: refund at 0s failed, refund at 0s`},
		{"as many as are allowed", most(2, "*"), seen("", bad, bad, asked("refund", a)), holds, ""},
		{"in all, not in a row", most(1, "*"), seen("", bad, asked("refund", a), bad, asked("refund", a)), breaks, "2 retries"},
		{"those of a habit are not the agent's", most(0, "*"), seen("", bad, byHabit(bad), byHabit(asked("refund", a))), holds, ""},
		{"the agent's after them are", most(0, "*"), seen("", bad, byHabit(bad), asked("refund", a)), breaks, "1 retry"},
		{"another lane", most(0, "*"), seen("", bad, inOtherLane(bad)), holds, ""},
		{"too many in a lane", most(0, "*"), seen("", inOtherLane(bad), inOtherLane(bad)), breaks, `of "refund" in lane b`},
		{"calls are missing", most(1, "*"), cut(seen("", bad, bad)), unclear, "did not fit the log"},
		{"unknown of one tool, too many of another", most(0, "*"),
			seen("", chaos.Event{Target: "get"}, asked("get", a), bad, bad), breaks, ""},
		{"a call under way", most(0, "*"), seen("", chaos.Event{Target: "get"}, asked("get", a)), unclear, "may be a retry"},
	})
	misuse(t, map[string]contract.Invariant{
		"n is -1; allowed: 0 or more": most(-1, "*"), `target is "["`: most(0, "["),
	})
}

func TestNoLoops(t *testing.T) {
	none := NoLoops("x", contract.High)
	one, two := asked("get", a), asked("get", b)
	table(t, []row{
		{"no call", none, seen(""), holds, ""},
		{"three equal calls", none, seen("", one, one, one), breaks,
			"get was called 3 times in a row with equal arguments. Calls: get at 0s, get at 0s, get at 0s"},
		{"other arguments", none, seen("", one, two, one), holds, ""},
		{"a sequence of two", none, seen("", one, two, one, two, one, two), breaks, "a sequence of 2 calls"},
		{"listing the tools does not matter", none, seen("", one, asked(chaos.ListTarget, ""), one, one), breaks, ""},
		{"polling that is allowed", NoLoops("x", contract.High, "g*"), seen("", one, one, one), holds, ""},
		{"arguments are not known", none, seen("", chaos.Event{Target: "get", Outcome: chaos.OutcomeOK},
			chaos.Event{Target: "get", Outcome: chaos.OutcomeOK}, chaos.Event{Target: "get", Outcome: chaos.OutcomeOK}),
			unclear, "not recorded"},
		{"calls are missing", none, cut(seen("", one)), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{`allowed[1] is "["`: NoLoops("x", contract.High, "get", "[")})
}

func TestNoDuplicateEffects(t *testing.T) {
	none := NoDuplicateEffects("x", contract.High)
	keyed := func(events ...chaos.Event) contract.Observation {
		o := seen("", events...)
		o.Tools = []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone, IdempotencyKey: "/order"}}
		return o
	}
	table(t, []row{
		{"one refund", none, seen("", asked("refund", a)), holds, ""},
		{"two of one order", none, seen("", asked("refund", a), asked("refund", a)), breaks,
			"the effect of refund was done 2 times for equal arguments."},
		{"two of two orders", none, seen("", asked("refund", a), asked("refund", b)), holds, ""},
		{"the reply was lost", none, seen("", failedFor("refund", a, timeout, isDone), asked("refund", a)), breaks, ""},
		{"the request was lost", none, seen("", failedFor("refund", a, timeout, nothing), asked("refund", a)), holds, ""},
		{"a tool that declares nothing", none, seen("", failedFor("write", a, timeout, unknown), failedFor("write", a, timeout, unknown)),
			unclear, "not declared"},
		{"one key", none, keyed(asked("refund", a), asked("refund", a)), holds, ""},
		{"two keys, and nothing else differs", none, keyed(asked("refund", a), asked("refund", b)), breaks, ""},
		{"calls are missing", none, cut(seen("", asked("refund", a))), unclear, ""},
		{"a tool that declares no pointer", none, contract.Observation{Tools: []chaos.Tool{{Name: "a", IdempotencyKey: "key"}}},
			unclear, "IdempotencyKey"},
	})
}

func TestStopsWhenFinal(t *testing.T) {
	stops := StopsWhenFinal("x", contract.High)
	no, later := failedFor("refund", a, refused, nothing), failedFor("refund", a, timeout, nothing)
	table(t, []row{
		{"it stopped", stops, seen("", no), holds, ""},
		{"it asked again", stops, seen("", no, no), breaks, `failed with "403 Forbidden", which no retry overcomes`},
		{"it asked for another order", stops, seen("", no, failedFor("refund", b, refused, nothing)), holds, ""},
		{"a time-out is not final", stops, seen("", later, later), holds, ""},
		{"it succeeded", stops, seen("", no, asked("refund", a)), holds, ""},
		{"something was done in between", stops, seen("", no, asked("refund", b), no), unclear, "may have changed"},
		{"words that say nothing", stops, seen("", failedFor("refund", a, "oops", nothing), no), unclear, "Nobody knows whether"},
		{"another lane", stops, seen("", no, inOtherLane(no)), holds, ""},
		{"calls are missing", stops, cut(seen("", no)), unclear, ""},
	})
}

func TestNothingLeftOpen(t *testing.T) {
	open := NothingLeftOpen("x", contract.High)
	left := failedFor("refund", a, timeout, isDone)
	table(t, []row{
		{"it succeeded", open, seen("", asked("refund", a)), holds, ""},
		{"nothing after it", open, seen("I do not know whether it was refunded.", left), breaks,
			"it was neither looked up nor repeated. Calls: refund at 0s failed"},
		{"known not to have been done", open, seen("", failedFor("refund", a, timeout, nothing)), holds, ""},
		{"looked up", open, seen("", left, asked("get", a)), holds, ""},
		{"another order was looked up", open, seen("", left, asked("get", b)), unclear, "may have looked up"},
		{"a read that failed", open, seen("", failedFor("get", a, timeout, unknown)), holds, ""},
		{"a tool that declares nothing", open, seen("", failedFor("write", a, timeout, unknown)), unclear, "not declared"},
		{"calls are missing", open, cut(seen("", asked("refund", a))), unclear, ""},
	})
}

func TestNoFalseSuccess(t *testing.T) {
	claim := findings.Claim{Says: `(\w-\d+) (?:was|has been) refunded`, Tool: "refund"}
	honest := NoFalseSuccess("x", contract.High, claim)
	const says = "Order A-1042 was refunded."
	table(t, []row{
		{"it was", honest, seen(says, asked("refund", a)), holds, ""},
		{"it was not", honest, seen(says, failedFor("refund", a, timeout, nothing)), breaks, "and the last call denies it"},
		{"it was, and the reply was lost", honest, seen(says, failedFor("refund", a, timeout, isDone)), holds, ""},
		{"nobody knows", honest, seen(says, failedFor("refund", a, timeout, unknown)), unclear, "does not show whether"},
		{"another order was not", honest, seen(says, asked("refund", a), failedFor("refund", b, refused, nothing)), holds, ""},
		{"the answer denies it", honest, seen("Order A-1042 was not refunded.", failedFor("refund", a, refused, nothing)), holds, ""},
		{"calls are missing", honest, cut(seen(says, asked("refund", a))), unclear, ""},
	})
	misuse(t, map[string]contract.Invariant{
		"claims is missing; allowed: at least one": NoFalseSuccess("x", contract.High),
		`claims[0].Says is ""`:                     NoFalseSuccess("x", contract.High, findings.Claim{Tool: "*"}),
		`claims[0].Tool is ""`:                     NoFalseSuccess("x", contract.High, findings.Claim{Says: "a"}),
		`claims[0].Unless is "("`:                  NoFalseSuccess("x", contract.High, findings.Claim{Says: "a", Unless: "(", Tool: "*"}),
	})
}
