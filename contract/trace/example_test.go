package trace_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// shop is a small call graph: the agent asks checkout, which asks orders.lookup
// and then llm.chat.
func shop() func(ctx context.Context, order int) (string, error) {
	lookup := chaos.Wrap("orders.lookup", func(ctx context.Context, order int) (string, error) {
		time.Sleep(50 * time.Millisecond)
		return fmt.Sprintf("order %d: two chairs", order), nil
	})
	chat := chaos.Wrap("llm.chat", func(ctx context.Context, prompt string) (string, error) {
		time.Sleep(200 * time.Millisecond)
		return "Your " + prompt, nil
	})
	return chaos.Wrap("checkout", func(ctx context.Context, order int) (string, error) {
		found, err := lookup(ctx, order)
		if err != nil {
			return "", err
		}
		return chat(ctx, found)
	})
}

// A minute of the shop, in which the orders are down from second 20 to 30.
func Example() {
	synctest.Test(new(testing.T), func(*testing.T) { // hours pass at once; a test gives its own t
		rec, err := trace.NewRecorder(nil)
		if err != nil {
			log.Fatal(err)
		}
		plan, err := chaos.NewPlan(1, chaos.Rule{
			Target: "orders.*", When: when.Between(20*time.Second, 30*time.Second), Fault: fault.Timeout(3 * time.Second),
		})
		if err != nil {
			log.Fatal(err)
		}
		in := plan.Injector("a minute", &chaos.InjectorOptions{RecordAll: true, OnEvent: rec.Record})
		ctx := chaos.NewContext(context.Background(), in)

		checkout := shop()
		var customers sync.WaitGroup
		for order := range 60 {
			customers.Go(func() { _, _ = checkout(chaos.WithLane(ctx, fmt.Sprintf("shop/customer-%d", order)), order) })
			time.Sleep(time.Second)
		}
		customers.Wait()

		run := rec.Run()
		for _, e := range run.Graph(timeline.GraphQuery{}).Edges {
			fmt.Printf("%s → %s (%s): %d calls, %d failed\n", e.From, e.To, e.Class, e.Attempts, e.Failures)
		}
		orders := timeline.Query{Nodes: []string{"orders.lookup"}}
		incidents, err := run.DetectOutages(orders, timeline.OutageRule{})
		if err != nil {
			log.Fatal(err)
		}
		for _, i := range incidents {
			fmt.Printf("%s of %s from %s to %s\n", i.Type, i.Node, i.StartTs.Format(time.TimeOnly), i.EndTs.Format(time.TimeOnly))
			recovery, err := run.RecoveryTime(i.Node, &timeline.RecoveryOptions{OutageStart: timeline.At(i.StartTs)})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("backlog gone after", recovery.DurationBins, "seconds")
		}
	})
	// Output:
	// agent → checkout (shop): 60 calls, 10 failed
	// checkout → llm.chat (shop): 50 calls, 0 failed
	// checkout → orders.lookup (shop): 60 calls, 10 failed
	// outage of orders.lookup from 00:00:20 to 00:00:30
	// backlog gone after 12 seconds
}

// Spans from production are judged by the same rules.
func ExampleReadOTLP() {
	const spans = `{"resourceSpans":[{
		"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"support"}}]},
		"scopeSpans":[{"spans":[
			{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b173","name":"invoke_agent refunds",
			 "startTimeUnixNano":"1767323045000000000","endTimeUnixNano":"1767323047000000000","status":{"code":1},
			 "attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},
			               {"key":"gen_ai.agent.name","value":{"stringValue":"refunds"}}]},
			{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173",
			 "name":"execute_tool lookup","startTimeUnixNano":"1767323045100000000","endTimeUnixNano":"1767323045400000000",
			 "status":{"code":2},
			 "attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},
			               {"key":"gen_ai.tool.name","value":{"stringValue":"lookup"}}]}]}]}]}`
	run, err := trace.ReadOTLP(strings.NewReader(spans), nil)
	if err != nil {
		log.Fatal(err)
	}
	g := run.Graph(timeline.GraphQuery{})
	for _, n := range g.Nodes {
		fmt.Println(n.ID, n.Type)
	}
	for _, e := range g.Edges {
		fmt.Printf("%s → %s: %d of %d failed\n", e.From, e.To, e.Failures, e.Attempts)
	}
	// Output:
	// agent agent
	// support.lookup tool
	// support.refunds agent
	// agent → support.refunds: 0 of 1 failed
	// support.refunds → support.lookup: 1 of 1 failed
}

// What would have happened with half the capacity?
func ExampleRuns_RunScenario() {
	work := func(ctx context.Context, c *trace.Conditions) error {
		slots := make(chan struct{}, c.Limit(4)) // the limit that a scenario scales
		call := chaos.Wrap("db.query", func(ctx context.Context, _ int) (int, error) {
			slots <- struct{}{}
			defer func() { <-slots }()
			time.Sleep(3500 * time.Millisecond)
			return 0, nil
		})
		var load sync.WaitGroup
		for n := range 30 {
			load.Go(func() { _, _ = call(chaos.WithLane(ctx, fmt.Sprintf("load/%d", n)), n) })
			time.Sleep(time.Second)
		}
		load.Wait()
		return nil
	}
	synctest.Test(new(testing.T), func(*testing.T) {
		ctx := context.Background()
		runs, err := trace.NewRuns(&trace.RunsOptions{Workload: &trace.Workload{Run: work, VirtualTime: true}})
		if err != nil {
			log.Fatal(err)
		}
		base, err := runs.RunBaseline(ctx, "as it is", nil)
		if err != nil {
			log.Fatal(err)
		}
		half := 0.5
		what, err := runs.RunScenario(ctx, trace.ScenarioRequest{
			BaseRunID: base.RunID, Label: "half the capacity", Parameters: trace.Parameters{CapacityMultiplier: &half},
		})
		if err != nil {
			log.Fatal(err)
		}
		a, _ := runs.Get(base.RunID)
		b, _ := runs.Get(what.RunID)
		c, err := timeline.Compare(a.Timeline, b.Timeline, timeline.Query{})
		if err != nil {
			log.Fatal(err)
		}
		for _, change := range c.Changes {
			if change.Worse {
				fmt.Printf("%s of %s: %v, was %v\n", change.Metric, change.Node, change.Scenario, change.Baseline)
			}
		}
	})
	// Output:
	// backlog of db.query: 14, was 3
	// latency of db.query: 14000, was 3500
	// latencyP95 of db.query: 24500, was 3500
	// capacity of db.query: 0.5607, was 0.9231
}
