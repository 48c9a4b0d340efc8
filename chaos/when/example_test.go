package when_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// matched calls "orders" six times and prints which calls the trigger matched.
func matched(w chaos.When) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "orders", When: w, Fault: fault.Fail(fault.ErrUnavailable)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	orders := chaos.Wrap("orders", func(_ context.Context, n int) (int, error) { return n, nil })
	var numbers []int
	for n := 1; n <= 6; n++ {
		if _, err := orders(ctx, n); err != nil {
			numbers = append(numbers, n)
		}
	}
	fmt.Println(numbers)
}

func Example() {
	matched(when.Nth(4))
	matched(when.First(2))
	matched(when.Every(3))
	matched(when.Prob(0.5)) // the same calls in every run
	// Output:
	// [4]
	// [1 2]
	// [3 6]
	// [3 4]
}

// Triggers combine. The parts of a combination draw independently.
func ExampleAll() {
	matched(when.All(when.After(2), when.Not(when.Nth(5))))
	// Output: [3 4 6]
}

// A deployment goes wrong by degrees, and is rolled back.
func ExampleStages() {
	matched(when.Stages(
		when.Stage{Calls: 2, When: when.Prob(0)},
		when.Stage{Calls: 3, When: when.Every(2)},
		when.Stage{Calls: 1, When: when.Always()},
	))
	// Output: [4 6]
}

// failures prints, call by call, which of two targets failed.
func failures(calls string, rules ...chaos.Rule) {
	plan, err := chaos.NewPlan(3, rules...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	name := map[rune]string{'o': "orders", 's': "stock", '-': "search"}
	for _, call := range calls {
		if chaos.Point(ctx, name[call]) != nil {
			call = 'x'
		}
		fmt.Print(string(call))
	}
	fmt.Println()
}

// An outage that spreads and heals, in calls to either target: from the third
// on the stock fails, from the seventh the orders too, after the tenth neither.
func Example_cascade() {
	down := fault.Fail(fault.ErrUnavailable)
	failures("osososososososo-", // search stands apart
		chaos.Rule{Target: "stock", Group: "outage", When: when.Burst(3, 8), Fault: down},
		chaos.Rule{Target: "orders", Group: "outage", When: when.Burst(7, 4), Fault: down},
	)
	// Output: osoxoxxxxxososo-
}

// A predicate looks at the arguments.
func ExampleArgs() {
	matched(when.Args("even orders", func(n int) bool { return n%2 == 0 }))
	// Output: [2 4 6]
}

// Every problem of a trigger is reported, with its place.
func Example_problems() {
	_, err := chaos.NewPlan(1, chaos.Rule{
		Name: "flaky", Target: "orders", Fault: fault.Fail(fault.ErrUnavailable),
		When: when.All(when.Prob(30), when.Every(0)),
	})
	fmt.Println(err)
	// Output:
	// chaos: rule "flaky": When: all: parts[0]: prob: p is 30; allowed: a probability from 0 to 1
	// chaos: rule "flaky": When: all: parts[1]: every: n is 0; allowed: a number of calls, at least 1
}
