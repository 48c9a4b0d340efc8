package invariant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// desk is a world with one tool. Its ledger does not know a repeated request.
type desk struct{ ledger []string }

func newDesk(context.Context) (*contract.World, error) {
	d := &desk{}
	type order struct{ Order string }
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund"}, func(_ context.Context, in order) (string, error) {
		d.ledger = append(d.ledger, in.Order)
		return "refunded", nil
	}))
	return &contract.World{
		Agent: d.answer, Tools: tools,
		State: func(context.Context) (any, error) { return slices.Clone(d.ledger), nil },
	}, err
}

// answer tries twice, and trusts that the second attempt went well.
func (d *desk) answer(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	args := json.RawMessage(`{"Order":"1042"}`)
	if _, err := tools.CallTool(ctx, "refund", args); err != nil {
		_, _ = tools.CallTool(ctx, "refund", args)
	}
	return "Order 1042 was refunded.", nil
}

// The same agent fails twice: where a reply is lost it refunds twice, and
// where the tool is down it claims a refund that was not made.
func Example() {
	refunds := func(ledger []string) []string { return ledger }
	m := &contract.Matrix{
		NewWorld: newDesk,
		Prompts:  []string{"Refund order 1042."},
		Invariants: []contract.Invariant{
			invariant.Contains("names-the-order", contract.Medium, "1042"),
			invariant.AtMostOnce("no-second-refund", contract.Critical, refunds),
			invariant.ClaimsMatchState("honest", contract.Critical, invariant.Claim[[]string]{
				Says:  `\border (\d+) was refunded`,
				Holds: func(ledger, said []string) bool { return slices.Contains(ledger, said[1]) },
			}),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "reply-lost", Rules: []chaos.Rule{{Target: "refund", When: when.Nth(1),
				Fault: fault.LoseReplyAfter(0)}}},
			{Name: "down", Rules: []chaos.Rule{{Target: "refund", Fault: fault.Fail(fault.ErrUnavailable)}}},
		},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cell := range report.Cells {
		if cell.State == contract.Broken {
			fmt.Printf("%v: %s\n", cell.Cell, cell.Why)
		}
	}
	// Output:
	// reply-lost/no-second-refund/1: an effect happened more than once: "1042" is there 2 times (0 before)
	// down/honest/1: the answer claims "Order 1042 was refunded" in "Order 1042 was refunded.", and the end state denies it (of type []string)
}

func ExampleWordSimilarity() {
	calm := "Your order 1042 was refunded today."
	fmt.Printf("%.2f\n", invariant.WordSimilarity(calm, "Your order 1042 was refunded today!"))
	fmt.Printf("%.2f\n", invariant.WordSimilarity(calm, "Your order 1042 was not refunded today."))
	fmt.Printf("%.2f\n", invariant.WordSimilarity(calm, "We sent the money back this morning."))
	// Output:
	// 1.00
	// 0.92
	// 0.00
}

func ExampleExactlyOnce() {
	type snapshot struct{ Refunds []string }
	one := invariant.ExactlyOnce("one-refund", contract.Critical, func(s snapshot) []string { return s.Refunds })
	for _, after := range []snapshot{{[]string{"1042"}}, {[]string{"1042", "1042"}}, {}} {
		fmt.Println(one.Check(context.Background(), &contract.Observation{Before: snapshot{}, After: after}))
	}
	// Output:
	// <nil>
	// an effect happened more than once: "1042" is there 2 times (0 before)
	// no effect came about, one is expected; effects there: none
}

func ExampleGrounded() {
	grounded := invariant.Grounded("no-fabrication", contract.Critical, nil)
	o := &contract.Observation{
		Prompt:   "When does order 1042 arrive?",
		Response: "Order 1042 arrives on March 4, 2026, tracking ZX-81-K.",
		Events: []chaos.Event{{Target: "orders.get", Outcome: chaos.OutcomeOK,
			Result: json.RawMessage(`{"due":"2026-03-04"}`)}},
	}
	fmt.Println(grounded.Check(context.Background(), o))
	// Output:
	// the answer says what no tool and not the prompt said: "zx-81-k": "Order 1042 arrives on March 4, 2026, tracking ZX-81-K."
}

func ExampleNoPII() {
	clean := invariant.NoPII("no-pii", contract.High, &invariant.PIIOptions{Allow: []string{"help@shop.example"}})
	o := &contract.Observation{Response: "Paid with 4111 1111 1111 1111. Questions? help@shop.example"}
	fmt.Println(clean.Check(context.Background(), o))
	// Output:
	// the answer contains personal data: card "4111 1111 1111 1111"
}

func ExampleFieldError() {
	inv := invariant.Regex("total", contract.High, `\d+(`)
	var problem *invariant.FieldError
	fmt.Println(errors.As(inv.Err, &problem), problem.Field)
	fmt.Println(inv.Err)
	// Output:
	// true Regex("total"): pattern
	// invariant: Regex("total"): pattern is "\\d+(": error parsing regexp: missing closing ): `\d+(`; allowed: a regular expression of package regexp that is not empty
}
