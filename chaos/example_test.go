package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A function is wrapped once, in the program; a test passes the rules in with
// the context.
func Example() {
	lookup := chaos.Wrap("orders.lookup", func(_ context.Context, id int) (string, error) {
		return fmt.Sprintf("order %d: one kettle", id), nil
	})

	plan, err := chaos.NewPlan(42, chaos.Rule{
		Name:   "flaky-orders",
		Target: "orders.*",
		When:   when.Nth(2),
		Fault:  fault.Fail(fault.ErrUnavailable),
	})
	if err != nil {
		log.Fatal(err)
	}
	in := plan.Injector("example", nil)
	ctx := chaos.NewContext(context.Background(), in)
	for range 3 {
		order, err := lookup(ctx, 1042)
		fmt.Printf("%q %v\n", order, err)
	}
	for _, e := range in.Events() {
		fmt.Printf("%s injected call %d of %s, delivered: %v\n", e.Rule, e.Ordinal+1, e.Target, e.Delivered)
	}
	// Output:
	// "order 1042: one kettle" <nil>
	// "" service unavailable
	// "order 1042: one kettle" <nil>
	// flaky-orders injected call 2 of orders.lookup, delivered: true
}

// fibonacci matches the 1st, 2nd, 3rd, 5th, 8th… call of a lane to a target.
type fibonacci struct{}

func (fibonacci) MatchOrdinal(ordinal uint64) bool {
	a, b := uint64(1), uint64(2)
	for a < ordinal+1 {
		a, b = b, a+b
	}
	return a == ordinal+1
}

func (w fibonacci) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

// A trigger of your own that needs only the ordinal of a call is an OrdinalWhen.
func ExampleOrdinalWhen() {
	plan, err := chaos.NewPlan(42, chaos.Rule{Target: "orders", When: fibonacci{}, Fault: fault.Fail(fault.ErrUnavailable)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	for call := range 9 {
		if err := chaos.Point(ctx, "orders"); err != nil {
			fmt.Printf("call %d: %v\n", call+1, err)
		}
	}
	// Output:
	// call 1: service unavailable
	// call 2: service unavailable
	// call 3: service unavailable
	// call 5: service unavailable
	// call 8: service unavailable
}

type refundArgs struct {
	Order int `json:"order"`
}

// The tools of an agent, from typed Go functions. Here the refund is made, and
// its reply is lost: what the caller sees is a time-out.
func ExampleWrapRegistry() {
	refunds := 0
	tools, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone}, func(_ context.Context, in refundArgs) (string, error) {
			refunds++
			return "refunded", nil
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.LoseReplyAfter(0)})
	if err != nil {
		log.Fatal(err)
	}
	in := plan.Injector("example", nil)
	registry := chaos.WrapRegistry(tools, in)
	_, err = registry.CallTool(context.Background(), "refund", json.RawMessage(`{"order":1042}`))
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, chaos.ErrInjected))
	fmt.Println("refunds made:", refunds, "effect:", in.Events()[0].Effect)
	// Output:
	// true true
	// refunds made: 1 effect: done
}

// Many agents call their tools through a switch; it is wrapped as a whole, and
// each name is a target.
func ExampleWrapDispatch() {
	dispatch := chaos.WrapDispatch(func(_ context.Context, name string, args json.RawMessage) (string, error) {
		switch name {
		case "clock":
			return "noon", nil
		}
		return "", fmt.Errorf("unknown tool %q", name)
	})
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "clock", Fault: fault.Replace("midnight")})
	if err != nil {
		log.Fatal(err)
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	fmt.Println(dispatch(ctx, "clock", nil))
	// Output: midnight <nil>
}

func ExampleWrapStream() {
	words := chaos.WrapStream("model.stream", func(context.Context, string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			_ = yield("your ", nil) && yield("order", nil)
		}
	})
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "model.*", Layer: chaos.LayerLLM, When: when.Nth(2), Fault: fault.Fail(fault.ErrUnavailable)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	for range 2 {
		for word, err := range words(ctx, "where is it?") {
			fmt.Printf("%q %v\n", word, err)
		}
	}
	// Output:
	// "your " <nil>
	// "order" <nil>
	// "" service unavailable
}

// A point inside a function needs no wrapper.
func ExamplePoint() {
	save := func(ctx context.Context) error {
		if err := chaos.Point(ctx, "save.before-commit"); err != nil {
			return err
		}
		return nil // commit
	}
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "save.*", Fault: fault.ResourceExhausted()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(save(context.Background()))
	fmt.Println(save(chaos.NewContext(context.Background(), plan.Injector("example", nil))))
	// Output:
	// <nil>
	// resource exhausted
}

// In a live program rules come and go.
func ExampleNewInjector() {
	in := chaos.NewInjector(1, nil)
	ping := func() error { return chaos.Point(chaos.NewContext(context.Background(), in), "ping") }
	fmt.Println(ping())
	if err := in.Register(chaos.Rule{Name: "cut", Target: "ping", Fault: fault.Partition()}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ping())
	in.Remove("cut")
	fmt.Println(ping())
	// Output:
	// <nil>
	// connect: no route to host
	// <nil>
}

// Calls are counted per lane.
func ExampleLane() {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "fetch", When: when.First(1), Fault: fault.Fail(fault.ErrUnavailable)})
	if err != nil {
		log.Fatal(err)
	}
	ctx := chaos.NewContext(context.Background(), plan.Injector("example", nil))
	for _, worker := range []string{"a", "b"} {
		lane := chaos.WithLane(ctx, "worker-"+worker)
		fmt.Println(worker, chaos.Point(lane, "fetch"), chaos.Point(lane, "fetch"))
	}
	// Output:
	// a service unavailable <nil>
	// b service unavailable <nil>
}

// Every problem of a plan is reported at once.
func ExampleNewPlan() {
	_, err := chaos.NewPlan(1,
		chaos.Rule{Name: "a", Target: "orders.{find", Fault: fault.Fail(fault.ErrUnavailable)},
		chaos.Rule{Name: "b", Target: "orders.*", When: when.Prob(1.5), Limit: -1, Fault: fault.Partition()},
	)
	var problem *chaos.RuleError
	fmt.Println(errors.As(err, &problem), problem.Rule, problem.Field)
	// Output: true a Target
}

// Safeguards keep an experiment in a running process within bounds: of ten calls
// that the rule would fail, three do, and after the switch none.
func ExampleSafeguards() {
	experiment, stop := context.WithCancel(context.Background())
	in := chaos.NewInjector(1, &chaos.InjectorOptions{Safeguards: &chaos.Safeguards{
		Kill:    experiment.Done(),
		Budget:  3,
		Targets: []string{"orders.*"},
	}})
	fmt.Println(in.Register(chaos.Rule{Name: "payments", Target: "pay", Fault: fault.Partition()}))
	if err := in.Register(chaos.Rule{Name: "everything", Target: "*", Fault: fault.Fail(fault.ErrUnavailable)}); err != nil {
		log.Fatal(err)
	}
	ctx := chaos.NewContext(context.Background(), in)
	failed := 0
	for range 10 {
		if chaos.Point(ctx, "orders.lookup") != nil {
			failed++
		}
	}
	stop()
	fmt.Println(failed, chaos.Point(ctx, "orders.lookup"), chaos.Point(ctx, "pay"))
	// Output:
	// chaos: rule "payments": Target is "pay": reaches no allowed target; allowed: a glob that meets the targets of the safeguards: orders.*
	// 3 <nil> <nil>
}
