package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// TestTextsThatAreNotUTF8: the names in a report of a matrix with such names hold in a file. Two names that differ in such bytes stay two.
func TestTextsThatAreNotUTF8(t *testing.T) {
	odd, other := "clock\xff", "clock\xfe"
	down := fault.Fail(errors.New("down " + odd))
	m := &contract.Matrix{
		Name: odd, Prompts: []string{odd}, KeepValues: true,
		NewWorld: func(context.Context) (*contract.World, error) {
			answers := func(context.Context, struct{}) (string, error) { return odd, nil }
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: odd, Description: odd}, answers),
				chaos.Func(chaos.Tool{Name: other}, answers), chaos.Func(chaos.Tool{Name: "un\xffused"}, answers))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				_, err := tools.CallTool(ctx, odd, json.RawMessage(fmt.Sprintf("%q", prompt)))
				_, _ = tools.CallTool(ctx, other, json.RawMessage(`{}`))
				return odd, err
			}}, err
		},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, JudgesErrors: true,
			Check: func(_ context.Context, o *contract.Observation) error { return errors.New(o.Response + odd) }}},
		Scenarios: []contract.Scenario{{Name: "down", Rules: []chaos.Rule{
			{Name: odd, Target: "*", Group: odd, Fault: down}, {Name: other, Target: "*", Fault: down}}}},
		Trials: 2,
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	require.NoError(t, r.Fingerprint.Check())
	text, err := json.Marshal(r.Fingerprint)
	require.NoError(t, err)
	var back contract.Fingerprint
	require.NoError(t, json.Unmarshal(text, &back))
	assert.NoError(t, back.Check(), "its sum is over the texts that a file has")
	names := map[string]int{r.Name: 1}
	for name := range r.Tools {
		names[name]++
	}
	for _, c := range r.Coverage {
		names[c.Target]++
	}
	for _, f := range r.Faults {
		names[f.Rule]++
	}
	assert.Equal(t, map[string]int{`clock\xff`: 4, `clock\xfe`: 3, `un\xffused`: 2}, names)
}
