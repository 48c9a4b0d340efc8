package invariant_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// Nobody said what the right end state is: it is that of the calm run. The agent repeats a
// refund whose reply was lost.
func ExampleRetryChangesNothing() {
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			var refunds []string
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone},
				func(context.Context, struct{}) (string, error) {
					refunds = append(refunds, "1042")
					return "refunded", nil
				}))
			return &contract.World{
				Tools: tools,
				State: func(context.Context) (any, error) { return append([]string{}, refunds...), nil },
				Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					if _, err := tools.CallTool(ctx, "refund", nil); err != nil {
						_, err = tools.CallTool(ctx, "refund", nil)
						return "Refunded at the second try.", err
					}
					return "Refunded.", nil
				},
			}, err
		},
		Prompts:    []string{"Refund order 1042"},
		Invariants: []contract.Invariant{invariant.RetryChangesNothing("retries-safely", contract.Critical, nil)},
		Scenarios: []contract.Scenario{
			contract.Under("request-lost", chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.Timeout(time.Millisecond)}),
			contract.Under("reply-lost", chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.LoseReplyAfter(time.Millisecond)}),
		},
	}
	r, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Cells {
		fmt.Println(strings.TrimSpace(fmt.Sprint(c.Cell, " ", c.State, " ", c.Why)))
	}
	// Output:
	// request-lost/retries-safely/1 held
	// reply-lost/retries-safely/1 broken the end state is not that of the calm run: what it is there changed at "/1": nothing became "1042"
}

// after is an observation of an agent that met a fault, beside its calm run.
func after(fault string, change func(*chaos.Event), state any, answer string) *contract.Observation {
	e := chaos.Event{Target: "orders.get", End: time.Minute, Delivered: true, Rule: "r", Fault: fault, Outcome: chaos.OutcomeOK}
	if change != nil {
		change(&e)
	}
	return &contract.Observation{Before: "", After: state, Response: answer, Events: []chaos.Event{e},
		Calm: &contract.Observation{Before: "", After: "open", Response: "Order 1042 is open."}}
}

func ExampleDelayChangesNothing() {
	patient := invariant.DelayChangesNothing("patient", contract.High, nil)
	failed := func(e *chaos.Event) { e.Outcome, e.Err = chaos.OutcomeInjected, "unavailable" }
	for _, o := range []*contract.Observation{
		after("latency", nil, "open", "Order 1042 is open."),
		after("latency", nil, "open", "Sorry, that takes too long."),
		after("error", failed, "open", "Sorry, that does not work."),
	} {
		fmt.Println(patient.Check(context.Background(), o))
	}
	// Output:
	// <nil>
	// the answer is 0.000 like the calm run, at least 0.75 is expected: "Sorry, that takes too long.", calm run "Order 1042 is open."
	// contract: undecided: the invariant does not apply: orders.get at 0s, on which "error" was delivered, was not a delay alone
}

func ExampleOrderChangesNothing() {
	any := invariant.OrderChangesNothing("any-order", contract.High, nil)
	for _, state := range []string{"open", "closed"} {
		o := after("reordered_calls", nil, state, "Done.")
		o.Events = append(o.Events, chaos.Event{Target: "orders.close", Start: time.Second, End: 2 * time.Second, Outcome: chaos.OutcomeOK})
		fmt.Println(any.Check(context.Background(), o))
	}
	// Output:
	// <nil>
	// the end state is not that of the calm run: what it is there changed at "": "open" became "closed"
}

func ExampleSpareChangesNothing() {
	failed := func(e *chaos.Event) { e.Outcome, e.Err = chaos.OutcomeInjected, "unavailable" }
	o := after("error", failed, "open", "Order 1042 is open.")
	for _, target := range []string{"orders.*", "mail.*"} {
		spare := invariant.SpareChangesNothing("spare", contract.High, []string{target}, nil)
		fmt.Println(spare.Check(context.Background(), o))
	}
	// Output:
	// <nil>
	// contract: undecided: the invariant does not apply: orders.get at 0s, on which "error" was delivered, is not spare
}

func ExampleStateChangesOnlyAt() {
	type order struct {
		ID     int    `json:"id"`
		Status string `json:"status"`
	}
	type shop struct {
		Orders []order `json:"orders"`
	}
	only := invariant.StateChangesOnlyAt("only-1042", contract.Critical, "$.orders[?(@.id == 1042)].status")
	before := shop{[]order{{1042, "open"}, {7, "open"}}}
	for _, state := range []shop{{[]order{{1042, "refunded"}, {7, "open"}}}, {[]order{{1042, "refunded"}, {7, "refunded"}}}} {
		fmt.Println(only.Check(context.Background(), &contract.Observation{Before: before, After: state}))
	}
	// Output:
	// <nil>
	// the state changed at "/orders/1/status", which no path allows: "open" became "refunded"
}
