package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/contract/search"
)

// An agent pays, tries once more when it fails, and then says that it has paid.
func ExampleExplain() {
	pay := chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone},
		func(context.Context, int) (string, error) { return "paid", nil })
	look := chaos.Func(chaos.Tool{Name: "look"}, func(context.Context, int) (string, error) { return "seen", nil })
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(pay, look)
			return &contract.World{Tools: tools, Agent: agent}, err
		},
		Prompts:    []string{"Pay order 7."},
		Invariants: []contract.Invariant{{Name: "honest", Severity: contract.Critical, Check: honest}},
		Scenarios: []contract.Scenario{
			contract.Under("everything-fails", chaos.Rule{Target: "*", Fault: fault.Fail(fault.ErrUnavailable)}),
		},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = search.Explain(context.Background(), m, report, &search.Options{Budget: search.Budget{Runs: 100}})
	for _, d := range report.Defects {
		fmt.Println(d.Severity, d.Sentence)
		for _, f := range d.Facts {
			fmt.Println(" ", f)
		}
	}
	fmt.Println(err)
	// Output:
	// critical pay fails twice in a row
	//   with one of the two it holds
	//   the agent tries twice
	// <nil>
}

func agent(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	_, _ = tools.CallTool(ctx, "look", []byte("7"))
	if _, err := tools.CallTool(ctx, "pay", []byte("7")); err != nil {
		if _, err = tools.CallTool(ctx, "pay", []byte("7")); err != nil {
			return "I think it is paid.", nil
		}
	}
	return "It is paid.", nil
}

func honest(_ context.Context, o *contract.Observation) error {
	if strings.Contains(o.Response, "I think") {
		return errors.New("it claims what it does not know")
	}
	return nil
}

// buys is an agent that pays, and tries once more if that fails.
func buys() *contract.Matrix {
	return &contract.Matrix{
		Prompts: []string{"Buy a teapot."},
		NewWorld: func(context.Context) (*contract.World, error) {
			paid := 0
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone},
				func(context.Context, struct{}) (string, error) {
					paid++
					return "paid", nil
				}))
			agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				for range 2 {
					if _, err := tools.CallTool(ctx, "pay", json.RawMessage("{}")); err == nil {
						return "Bought.", nil
					}
				}
				return "I could not pay.", nil
			}
			return &contract.World{Agent: agent, Tools: tools,
				State: func(context.Context) (any, error) { return paid, nil }}, err
		},
		Invariants: []contract.Invariant{{Name: "pays-once", Severity: contract.Critical, Needs: contract.NeedState,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.After.(int) > 1 {
					return errors.New("it paid more than once")
				}
				return nil
			}}},
	}
}

// A sweep needs no scenarios: it tries faults on the calls that a calm run makes.
func ExampleSweep() {
	swept, err := search.Sweep(context.Background(), buys(), &search.Options{Budget: search.Budget{Runs: 100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range swept.Defects {
		fmt.Printf("%v: %s\n", d.Severity, d.Sentence)
		for _, f := range d.Facts {
			fmt.Println("  " + f)
		}
	}
	fmt.Println(swept.Covered())
	// Output:
	// critical: pay does its work and its reply is lost
	//   the agent tries twice
	//   pay is called again with equal arguments after its work was done
	//   it breaks alike with duplicate
	//   when it only fails, or times out before the work, it holds
	// all 5 single faults; 10 of 15 pairs in which the second is on a call that the first brought about
}

// A scan says how much of a fault an invariant holds out.
func ExampleScan() {
	m := buys()
	m.Invariants = []contract.Invariant{{Name: "buys", Severity: contract.High,
		Check: func(_ context.Context, o *contract.Observation) error {
			if o.Response != "Bought." {
				return errors.New(o.Response)
			}
			return nil
		}}}
	scanned, err := search.Scan(context.Background(), m, search.Burst("pay", fault.Fail(fault.ErrUnavailable)),
		&search.Options{Budget: search.Budget{Runs: 100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(scanned)
	// Output:
	// error at pay in a row, 17 runs
	// buys                     holds to 1 (1 of 1 held), breaks from 2 (0 of 1 held)
}

// The agent looks once, and gives up when that fails.
func ExampleCure() {
	look := chaos.Func(chaos.Tool{Name: "look", Effect: chaos.EffectNone},
		func(context.Context, int) (string, error) { return "seen", nil })
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(look)
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				seen, _ := tools.CallTool(ctx, "look", []byte("7"))
				return string(seen), nil
			}}, err
		},
		Prompts: []string{"Look at order 7."},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response == "" {
					return errors.New("no answer")
				}
				return nil
			}}},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			contract.Under("look-fails", chaos.Rule{Target: "look", When: when.First(1), Fault: fault.Fail(fault.ErrUnavailable)}),
		},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := &search.Options{Budget: search.Budget{Runs: 100},
		Habits: []*habits.Habit{habits.TellFailures(nil), habits.Retries(&habits.Options{Wait: time.Millisecond})}}
	err = errors.Join(search.Explain(context.Background(), m, report, o), search.Cure(context.Background(), m, report, o))
	for _, d := range report.Defects {
		fmt.Println(d.Sentence)
		for _, h := range d.Cure.Habits {
			fmt.Printf("  mended by %s on %s (%d of %d cells)\n", h.Does, strings.Join(h.Tools, ", "), d.Cure.Held, d.Cure.Cells)
		}
	}
	fmt.Println(err)
	// Output:
	// look fails
	//   mended by bounded retries with back-off on look (1 of 1 cells)
	// <nil>
}
