package contracttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// lookingUp is a matrix of an agent that looks up an order on a goroutine, whose context
// does not end with its own, and gives up after three seconds.
func lookingUp(t *testing.T) *contract.Matrix {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "lookup", Effect: chaos.EffectNone},
		func(context.Context, struct{}) (string, error) { return "shipped", nil }))
	require.NoError(t, err)
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		answer := make(chan string, 1)
		go func() {
			if text, err := tools.CallTool(context.WithoutCancel(ctx), "lookup", json.RawMessage(`{}`)); err == nil {
				answer <- string(text)
			}
		}()
		select {
		case text := <-answer:
			return text, nil
		case <-time.After(3 * time.Second):
			return "I could not find out.", nil
		}
	}
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		},
		Prompts: []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != `"shipped"` {
					return errors.New("the order was not found")
				}
				return nil
			}}},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "lookup-hangs", Rules: []chaos.Rule{{Target: "lookup", Fault: fault.Hang()}}}},
	}
}

func TestChildLooksUp(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lookingUp(t), &contracttest.Options{Dir: "-"})
}

// TestAHangThatOutlivesItsCellIsFound: the fault that holds the call is delivered, and the
// search names it.
func TestAHangThatOutlivesItsCellIsFound(t *testing.T) {
	out, failed := explaining(t, "-", "^TestChildLooksUp$")
	assert.True(t, failed)
	for _, want := range []string{
		"✗ lookup-hangs / answers (high): broken",
		"why       the order was not found",
		"faults    lookup, call 1: hang (rule lookup:hang), waited 4s, the call was still open when", // line end
		"DEFECTS  1 broken cell is 1 defect",
		"1 high      lookup fails",
		"faults    1 of 1 rule delivered, on 1 call",
	} {
		assert.Contains(t, out, want)
	}
	for _, never := range []string{"although no fault was delivered", "tested nothing", "did not break again"} {
		assert.NotContains(t, out, never)
	}
}
