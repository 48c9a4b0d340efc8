package invariant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// A tool that does not look at its context lets the call outlive its deadline.
func ExampleCallsWithin() {
	inv := invariant.CallsWithin("in-time", contract.High, time.Second, "*")
	refund := chaos.Event{Target: "refund", Layer: chaos.LayerTool, Outcome: chaos.OutcomeOK, Deadline: 5 * time.Second,
		End: 6 * time.Second}
	judge(inv, "", refund)
	refund.End = 9 * time.Second
	judge(inv, "", refund)
	// Output:
	// <nil>
	// a call ended 4s after its deadline, at most 1s is allowed: refund at 0s
}

// An agent that tries again must see that its own time is over.
func ExampleNothingAfterEnd() {
	inv := invariant.NothingAfterEnd("stops-in-time", contract.High, "audit.*")
	late := chaos.Event{Target: "audit.close", Layer: chaos.LayerTool, Outcome: chaos.OutcomeOK, Start: 6 * time.Second,
		Deadline: 5 * time.Second, ContextEnded: true}
	judge(inv, "", late)
	late.Target = "refund"
	judge(inv, "", late)
	// Output:
	// <nil>
	// 1 calls began after their context had ended: refund at 6s
}

// The event is what chaoshttp.CutCompletion leaves of a call.
func ExampleNoCutAnswer() {
	inv := invariant.NoCutAnswer("whole", contract.High, nil)
	model := chaos.Event{Target: "POST model.example/v1/chat/completions", Layer: chaos.LayerLLM, Outcome: chaos.OutcomeOK,
		Delivered: true, Fault: "cut_completion", Changes: []chaos.Change{{Path: "$.choices[0].message.content",
			Before: json.RawMessage(`"The order was refunded."`), After: json.RawMessage(`"The order was"`)}}}
	judge(inv, "The order was", model)
	fmt.Println(inv.Check(context.Background(), &contract.Observation{Err: fmt.Errorf("the answer was cut")}))
	// Output:
	// the answer, "The order was", is what had come of an answer that was cut: POST model.example/v1/chat/completions at 0s
	// <nil>
}

// An agent shows the items of a stream as they come. After the second item the stream broke off.
func ExampleEmitsOnce() {
	type screen []string
	inv := invariant.EmitsOnce("shown-once", contract.Medium, "tokens", func(s screen) []string { return s })
	calls := []chaos.Event{
		{Target: "tokens", Layer: chaos.LayerStream, Outcome: chaos.OutcomeInjected, Err: "unexpected EOF"},
		{Target: "tokens", Layer: chaos.LayerStream, Outcome: chaos.OutcomeOK, Result: json.RawMessage(`{"items":3}`)},
	}
	for _, shown := range []screen{{"was", "shipped", "today"}, {"was", "shipped", "was", "shipped", "today"}} {
		fmt.Println(inv.Check(context.Background(), &contract.Observation{Before: screen{}, After: shown, Events: calls}))
	}
	// Output:
	// <nil>
	// what a stream that broke off had given was passed on once more with the one in its place: "wasshippedwasshippedtoday"; tokens at 0s injected, tokens at 0s
}
