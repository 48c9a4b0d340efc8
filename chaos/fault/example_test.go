package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"syscall"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// under is a context in which wrapped calls meet the rules.
func under(rules ...chaos.Rule) (context.Context, *chaos.Injector) {
	plan, err := chaos.NewPlan(1, rules...)
	if err != nil {
		panic(err)
	}
	in := plan.Injector("example", nil)
	return chaos.NewContext(context.Background(), in), in
}

func Example() {
	status := chaos.Wrap("orders.status", func(_ context.Context, order int) (string, error) {
		return fmt.Sprintf("order %d is on its way", order), nil
	})
	ctx, _ := under(
		chaos.Rule{Target: "orders.*", When: when.Nth(2), Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Target: "orders.*", When: when.Nth(3), Fault: fault.Mutate("shout", strings.ToUpper)},
	)
	for order := 1040; order < 1044; order++ {
		fmt.Println(status(ctx, order))
	}
	// Output:
	// order 1040 is on its way <nil>
	//  service unavailable
	// ORDER 1042 IS ON ITS WAY <nil>
	// order 1043 is on its way <nil>
}

// The refund happens, its caller sees a time-out, tries again, and pays twice.
func ExampleLoseReplyAfter() {
	paid := 0
	refund := chaos.Wrap("refund", func(_ context.Context, amount int) (string, error) {
		paid += amount
		return "refunded", nil
	})
	ctx, in := under(chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.LoseReplyAfter(0)})

	result, err := refund(ctx, 100)
	fmt.Println("first try:", err, "| deadline exceeded:", errors.Is(err, context.DeadlineExceeded))
	if err != nil {
		result, err = refund(ctx, 100)
	}
	fmt.Println("second try:", result, err)
	fmt.Println("paid:", paid)
	for _, e := range in.Events() {
		fmt.Println("event:", e.Fault, "delivered:", e.Delivered)
	}
	// Output:
	// first try: i/o timeout | deadline exceeded: true
	// second try: refunded <nil>
	// paid: 200
	// event: lost_reply delivered: true
}

// One rule over several targets, with a group, is a partition: it begins for
// all of them at one moment, here after three calls to any of them, and heals
// for all at once. By the clock it would be when.Between(from, to).
func ExamplePartition() {
	ctx, _ := under(chaos.Rule{
		Target: "{orders,stock}.*", Group: "warehouse", Fault: fault.Partition(),
		When: when.All(when.After(3), when.First(7)),
	})
	for _, target := range []string{"orders.get", "stock.count", "orders.get", "stock.count", "mail.send", "orders.get", "stock.count"} {
		call := chaos.Wrap(target, func(context.Context, int) (string, error) { return "ok", nil })
		result, err := call(ctx, 1)
		fmt.Printf("%-12s %s%v unreachable: %v\n", target, result, err, errors.Is(err, syscall.EHOSTUNREACH))
	}
	// Output:
	// orders.get   ok<nil> unreachable: false
	// stock.count  ok<nil> unreachable: false
	// orders.get   ok<nil> unreachable: false
	// stock.count  connect: no route to host unreachable: true
	// mail.send    ok<nil> unreachable: false
	// orders.get   connect: no route to host unreachable: true
	// stock.count  connect: no route to host unreachable: true
}

// A replaced result is delivered only where it differs from the real one.
func ExampleReplace() {
	stock := chaos.Wrap("stock", func(_ context.Context, item string) (int, error) { return len(item), nil })
	ctx, in := under(chaos.Rule{Target: "stock", Fault: fault.Replace(3)})
	for _, item := range []string{"a pen", "pen"} {
		fmt.Println(stock(ctx, item))
	}
	for _, e := range in.Events() {
		fmt.Println("delivered:", e.Delivered)
	}
	// Output:
	// 3 <nil>
	// 3 <nil>
	// delivered: true
	// delivered: false
}

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
	// true As kind "guardrail_hung"
}
