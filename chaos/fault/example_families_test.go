package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// spell is a model that streams a word letter by letter.
var spell = chaos.WrapStream("model", func(_ context.Context, word string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, letter := range word {
			if !yield(string(letter), nil) {
				return
			}
		}
	}
})

// A stream breaks off in the middle. The fault is not delivered to a consumer
// that stops before.
func ExampleCutAfter() {
	ctx, in := under(chaos.Rule{Target: "model", Fault: fault.CutAfter(3)})
	for letter, err := range spell(ctx, "shipped") {
		fmt.Println(letter, err)
	}
	for letter := range spell(ctx, "shipped") {
		fmt.Println(letter)
		break
	}
	for _, e := range in.Events() {
		fmt.Println("delivered:", e.Delivered)
	}
	// Output:
	// s <nil>
	// h <nil>
	// i <nil>
	//  unexpected EOF
	// s
	// delivered: true
	// delivered: false
}

// The caller hears of a time-out and tries again; then its first request arrives, too.
func ExampleLateResult() {
	paid := 0
	refund := chaos.Wrap("refund", func(_ context.Context, amount int) (int, error) {
		paid += amount
		return paid, nil
	})
	balance := chaos.Wrap("balance", func(context.Context, struct{}) (int, error) { return paid, nil })
	ctx, _ := under(chaos.Rule{Target: "*", Fault: fault.LateResult("refund", 0, 0)})

	_, err := refund(ctx, 100)
	fmt.Println(err, "paid:", paid)
	_, err = refund(ctx, 100)
	fmt.Println(err)
	paid, err = balance(ctx, struct{}{})
	fmt.Println(paid, err)
	// Output:
	// i/o timeout paid: 0
	// <nil>
	// 200 <nil>
}

// What arrives at the other agent is not what was handed over.
func ExampleCorruptHandoff() {
	handOff := chaos.Wrap("handoff", func(_ context.Context, w task) (string, error) {
		return fmt.Sprintf("%s works on order %d", w.To, w.Order), nil
	})
	ctx, in := under(chaos.Rule{Target: "handoff", Fault: fault.CorruptHandoff(json.RawMessage(`{"order":1043}`))})
	fmt.Println(handOff(ctx, task{To: "refunds", Order: 1042}))
	change := in.Events()[0].Changes[0]
	fmt.Printf("%s → %s\n", change.Before, change.After)
	// Output:
	// refunds works on order 1043 <nil>
	// {"to":"refunds","order":1042} → {"to":"refunds","order":1043}
}

// What happens to any callable can happen to a guardrail; reports then name it so.
func ExampleAs() {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Target: "guardrail", Fault: fault.As("guardrail_down", fault.Fail(fault.ErrUnavailable))})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := plan.Injector("example", nil)
	ctx := chaos.NewContext(context.Background(), in)
	check := chaos.Wrap("guardrail", func(context.Context, string) (bool, error) { return true, nil })
	_, err = check(ctx, "refund 900")
	fmt.Println(err)
	fmt.Println(in.Events()[0].Fault)

	_, err = chaos.NewPlan(1, chaos.Rule{Name: "hang", Target: "guardrail", Fault: fault.As("guardrail_hung", fault.Hang())})
	var wrong *chaos.ParamError
	fmt.Println(errors.As(err, &wrong), wrong.Kind, wrong.Param, wrong.Value)
	// Output:
	// service unavailable
	// guardrail_down
	// true hang kind guardrail_hung
}
