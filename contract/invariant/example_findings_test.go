package invariant_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// refundOf is a call of the tool refund, for an order; err is how it failed, and does what
// became of its work.
func refundOf(order int, err string, does chaos.Effect) chaos.Event {
	e := chaos.Event{Target: "refund", Layer: chaos.LayerTool, Args: fmt.Appendf(nil, `{"order":%d}`, order),
		Outcome: chaos.OutcomeOK, Effect: does, Err: err}
	if err != "" {
		e.Outcome = chaos.OutcomeInjected
	}
	return e
}

// judge prints what an invariant says of calls and the answer after them.
func judge(inv contract.Invariant, answer string, calls ...chaos.Event) {
	fmt.Println(inv.Check(context.Background(), &contract.Observation{
		Response: answer, Events: calls,
		Tools: []chaos.Tool{{Name: "refund", Effect: chaos.EffectDone}, {Name: "orders.get", Effect: chaos.EffectNone}},
	}))
}

func ExampleRetriesAtMost() {
	bad := refundOf(1042, "service unavailable", chaos.EffectNone)
	inv := invariant.RetriesAtMost("few-retries", contract.Medium, 2, "*")
	judge(inv, "", bad, bad, bad)
	judge(inv, "", bad, bad, bad, bad)
	// Output:
	// <nil>
	// 3 retries of "refund", at most 2 are allowed: refund at 0s injected, refund at 0s injected, refund at 0s injected, refund at 0s injected
}

func ExampleNoLoops() {
	inv := invariant.NoLoops("no-loop", contract.Medium)
	one, two := refundOf(1042, "", chaos.EffectDone), refundOf(1043, "", chaos.EffectDone)
	judge(inv, "", one, two, one)
	judge(inv, "", one, two, one, two, one, two)
	// Output:
	// <nil>
	// a sequence of 2 calls that begins with refund was made 3 times in a row with equal arguments. Calls: refund at 0s, refund at 0s, refund at 0s, refund at 0s, refund at 0s, refund at 0s
}

// A reply that was lost makes an agent repeat what was done.
func ExampleNoDuplicateEffects() {
	inv := invariant.NoDuplicateEffects("one-refund", contract.Critical)
	judge(inv, "", refundOf(1042, "i/o timeout", chaos.EffectNone), refundOf(1042, "", chaos.EffectDone))
	judge(inv, "", refundOf(1042, "i/o timeout", chaos.EffectDone), refundOf(1042, "", chaos.EffectDone))
	// Output:
	// <nil>
	// the effect of refund was done 2 times for equal arguments. Calls: refund at 0s injected, refund at 0s
}

func ExampleStopsWhenFinal() {
	inv := invariant.StopsWhenFinal("takes-no-for-an-answer", contract.Medium)
	later, never := refundOf(1042, "i/o timeout", chaos.EffectNone), refundOf(1042, "403 Forbidden", chaos.EffectNone)
	judge(inv, "", later, later, never)
	judge(inv, "", never, never)
	// Output:
	// <nil>
	// refund was called again with equal arguments after it had failed with "403 Forbidden", which no retry overcomes. Calls: refund at 0s injected, refund at 0s injected
}

// An agent that looks the order up knows what became of its refund.
func ExampleNothingLeftOpen() {
	inv := invariant.NothingLeftOpen("finds-out", contract.High)
	lost := refundOf(1042, "i/o timeout", chaos.EffectDone)
	look := chaos.Event{Target: "orders.get", Layer: chaos.LayerTool, Args: json.RawMessage(`{"id":1042}`),
		Outcome: chaos.OutcomeOK, Effect: chaos.EffectNone}
	judge(inv, "", lost, look)
	judge(inv, "", lost)
	// Output:
	// <nil>
	// refund failed with "i/o timeout" and may have done its work; it was neither looked up nor repeated. Calls: refund at 0s injected
}

func ExampleNoFalseSuccess() {
	inv := invariant.NoFalseSuccess("honest", contract.Critical, findings.Claim{
		Says: `\border (\d+) (?:was|has been) refunded`, Tool: "refund",
	})
	down := refundOf(1042, "service unavailable", chaos.EffectNone)
	judge(inv, "Order 1042 was not refunded.", down)
	judge(inv, "Order 1042 was refunded.", down)
	// Output:
	// <nil>
	// the answer claims "Order 1042 was refunded" in "Order 1042 was refunded.", and the last call denies it. Calls: refund at 0s injected
}
