package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A shop that sells from its cache while the database is away.
func Example() {
	in := chaos.NewInjector(1, nil)
	query := chaos.Wrap("db.query", func(_ context.Context, id int) (string, error) { return fmt.Sprint("order ", id), nil })
	cache := map[int]string{}
	order := func(ctx context.Context) (any, error) {
		text, err := query(chaos.NewContext(ctx, in), 1042)
		if err != nil && cache[1042] != "" {
			return cache[1042], nil
		}
		cache[1042] = text
		return text, err
	}

	e := &experiment.Experiment{
		Name: "orders survive the loss of the database",
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{
			{Name: "an order is found", Run: order, Tolerance: experiment.Equal("order 1042")},
		}},
		Method: []experiment.Activity{
			{Name: "cut the database off", Start: experiment.Arm(in, 0, chaos.Rule{Target: "db.*", Group: "database", Fault: fault.Partition()})},
		},
	}
	journal, err := experiment.Run(context.Background(), e, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(journal.Status, "deviated:", journal.Deviated)
	fmt.Println("before:", journal.SteadyStates.Before.Met, "after:", journal.SteadyStates.After.Met)
	fmt.Println(journal.Rollbacks[0].Activity.Name, journal.Rollbacks[0].Status)
	// Output:
	// completed deviated: false
	// before: true after: true
	// undo cut the database off succeeded
}

func ExampleRunSimple() {
	up := true
	e := &experiment.Experiment{
		Name: "the worker comes back",
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{
			{Name: "it is up", Run: func(context.Context) (any, error) { return up, nil }},
		}},
		Method: []experiment.Activity{{Name: "kill it", Start: func(context.Context) (any, experiment.Undo, error) {
			up = false
			undo := func(context.Context) error { up = true; return nil }
			return nil, undo, errors.New("the agent did not answer")
		}}},
	}
	r, err := experiment.RunSimple(context.Background(), e, false, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Success, r.Before, r.After, *r.Error)
	fmt.Println("recovered:", *r.Recovered)
	// Output:
	// false true false Action failed: the agent did not answer
	// recovered: true
}

// A guard ends a method that does too much harm; it is rolled back.
func ExampleGuard() {
	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
	ctx := chaos.NewContext(context.Background(), in)
	e := &experiment.Experiment{
		Name: "search is down",
		Method: []experiment.Activity{
			{Name: "break search", Start: experiment.Arm(in, 0, chaos.Rule{Target: "search", Fault: fault.Fail(fault.ErrUnavailable)})},
			{Name: "traffic", Run: func(stop context.Context) (any, error) {
				for range 20 {
					_ = chaos.Point(ctx, "search")
				}
				<-stop.Done() // it would go on for a long time
				return nil, stop.Err()
			}},
		},
		Guards: []experiment.Guard{{Name: "error rate", Every: time.Millisecond, Check: func(context.Context) error {
			if failed := len(in.Events()); failed > 10 {
				return fmt.Errorf("%d calls failed", failed)
			}
			return nil
		}}},
	}
	journal, err := experiment.Run(ctx, e, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(journal.Status)
	fmt.Println("rules left:", len(in.Rules()))
	// Output:
	// aborted
	// rules left: 0
}
