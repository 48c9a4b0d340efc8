package fault_test

import (
	"context"
	"errors"
	"fmt"
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

// A tool's JSON is decoded into any Go type that holds it.
func ExampleMutate() {
	type price struct {
		Amount   int    `json:"amount"`
		Currency string `json:"currency"`
	}
	registry, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "price"}, func(context.Context, struct{}) (price, error) {
		return price{1990, "EUR"}, nil
	}))
	if err != nil {
		panic(err)
	}
	tools := chaos.WrapRegistry(registry, nil)
	ctx, in := under(chaos.Rule{Target: "price", Fault: fault.Mutate("in dollars", func(p price) price {
		p.Currency = "USD"
		return p
	})})
	answer, err := tools.CallTool(ctx, "price", nil)
	fmt.Println(string(answer), err)
	change := in.Events()[0].Changes[0]
	fmt.Printf("%s → %s\n", change.Before, change.After)
	// Output:
	// {"amount":1990,"currency":"USD"} <nil>
	// {"amount":1990,"currency":"EUR"} → {"amount":1990,"currency":"USD"}
}
