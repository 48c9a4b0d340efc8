package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
)

// A tool whose reply is lost is called again with the same key, and charges once.
func ExampleAround() {
	charged := map[string]bool{}
	tools, err := chaos.NewRegistry(chaos.Func(
		chaos.Tool{Name: "charge", Effect: chaos.EffectDone, IdempotencyKey: "/key"},
		func(_ context.Context, in struct{ Key string }) (string, error) {
			if charged[in.Key] {
				return "charged already", nil
			}
			charged[in.Key] = true
			return "", errors.New("connection reset by peer") // the reply is lost
		}))
	if err != nil {
		panic(err)
	}
	around := habits.Around(habits.Retries(nil), habits.IdempotencyKeys(nil))
	result, err := around(tools).CallTool(context.Background(), "charge", json.RawMessage(`{"amount": 5}`))
	fmt.Printf("%s %v, %d charge\n", result, err, len(charged))
	// Output: "charged already" <nil>, 1 charge
}

// On which tools a habit acts, and why not.
func ExampleHabit_On() {
	tools := []chaos.Tool{
		{Name: "get", Effect: chaos.EffectNone, InputSchema: json.RawMessage(`{"required": ["order"]}`)},
		{Name: "refund", Effect: chaos.EffectDone, InputSchema: json.RawMessage(`{"properties": {"order": {}, "amount": {}}}`)},
	}
	for _, h := range habits.All() {
		names, abstains := h.On(tools)
		if abstains != "" {
			abstains = " " + abstains
		}
		fmt.Printf("%-45s %q%s\n", h.Does, names, abstains)
	}
	// Output:
	// telling a tool's failure in a fixed form      ["get" "refund"]
	// stopping after a permanent failure            ["get" "refund"]
	// no two equal effects at once                  ["refund"]
	// remembering equal reads                       ["get"]
	// an idempotency key                            [] get: it is declared to change nothing, refund: it declares no idempotency key
	// bounded retries with back-off                 ["get" "refund"]
	// a look before the repeat                      ["refund"]
	// refusing a result that its schema refuses     [] get: it declares no output schema, refund: it declares no output schema
	// a deadline for each call                      ["get" "refund"]
}

// A program without tools has habits in its transport: what may have been done is sent again with the same key.
func ExampleTransport() {
	keys := map[string]bool{}
	lossy := roundTripper(func(r *http.Request) (*http.Response, error) {
		key := r.Header.Get("Idempotency-Key")
		if !keys[key] {
			keys[key] = true
			return nil, errors.New("connection reset by peer") // the reply is lost
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	client := &http.Client{Transport: habits.Transport(lossy, habits.Retries(nil), habits.IdempotencyKeys(nil))}
	resp, err := client.Post("https://pay.example/charges", "application/json", strings.NewReader(`{"amount": 5}`))
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode, len(keys), "key")
	// Output: 200 1 key
}

// A matrix tries a habit outside of the faults: the agent gives up at the first failure, and the habit does not.
func Example_matrix() {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "status", Effect: chaos.EffectNone},
		func(context.Context, struct{}) (string, error) { return "paid", nil }))
	if err != nil {
		panic(err)
	}
	m := &contract.Matrix{
		Name: "orders", Prompts: []string{"Is the order paid?"},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				result, err := tools.CallTool(ctx, "status", nil)
				return string(result), err
			}}, nil
		},
		Scenarios: []contract.Scenario{{Name: "down-once",
			Rules: []chaos.Rule{{Target: "status", When: when.First(1), Fault: fault.Fail(fault.ErrUnavailable)}}}},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, JudgesErrors: true,
			Check: func(_ context.Context, o *contract.Observation) error { return o.Err }}},
	}
	for _, around := range []func(chaos.ToolRegistry) chaos.ToolRegistry{nil, habits.Around(habits.Retries(nil))} {
		report, err := m.Run(context.Background(), &contract.RunOptions{Around: around})
		if err != nil {
			panic(err)
		}
		fmt.Println(report.Cells[0].State, report.Cells[0].Why)
	}
	// Output:
	// broken service unavailable
	// held
}
