package scenarios_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/scenarios"
)

// The four paths of a target, as an agent that calls twice with a second of patience
// sees them.
func TestFourPaths(t *testing.T) {
	got := map[string]string{}
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "orders.get"}, func(context.Context, struct{}) (string, error) { return "ok", nil }))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (answer string, _ error) {
				for range 2 {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					began := time.Now()
					_, err := tools.CallTool(ctx, "orders.get", json.RawMessage(`{}`))
					cancel()
					switch {
					case errors.Is(err, fault.ErrUnavailable):
						answer += "down"
					case err != nil:
						answer += "late"
					default:
						answer += "ok"
					}
					answer += fmt.Sprint(" after ", time.Since(began), " ")
				}
				return answer, nil
			}}, err
		},
		Prompts:   []string{"go"},
		Scenarios: scenarios.FourPaths("orders.*", 5*time.Second),
		Invariants: []contract.Invariant{{Name: "seen", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			got[o.Cell.Scenario] = o.Response
			return nil
		}}},
	}
	r := contracttest.Run(t, m, &contracttest.Options{Workers: 1})
	assert.Subset(t, got, map[string]string{ // besides, two calm runs find out whether the agent is repeatable
		"orders._-timeout": "late after 5s ok after 0s ", "orders._-hang": "late after 1m0s late after 1m0s ",
		"orders._-fails-once": "down after 0s ok after 0s ", "orders._-fails": "down after 0s down after 0s ",
	})
	assert.Equal(t, 4, r.Score.Passed)
	m.Scenarios = scenarios.FourPaths("orders.[", -1)
	assert.Error(t, m.Validate(), "the rules say what is wrong with them")
}
