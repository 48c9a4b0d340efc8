package contract_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// clockAndBell is a registry of two tools.
func clockAndBell(t testing.TB) chaos.ToolRegistry {
	t.Helper()
	noon := func(context.Context, struct{}) (string, error) { return "noon", nil }
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, noon), chaos.Func(chaos.Tool{Name: "bell"}, noon))
	require.NoError(t, err)
	return tools
}

func down(name, target string, w chaos.When) chaos.Rule {
	return chaos.Rule{Name: name, Target: target, When: w, Fault: fault.Fail(fault.ErrUnavailable)}
}

// ruleMatrix has one scenario with the rules, after a calm one.
func ruleMatrix(t testing.TB, agent contract.Agent, rules ...chaos.Rule) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		tools := clockAndBell(t)
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		}
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "s", Rules: rules})
	})
}

// TestWarningsAboutRules: what package lint finds in the rules of a scenario.
func TestWarningsAboutRules(t *testing.T) {
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "done", nil }
	m := ruleMatrix(t, agent, down("never", "clock", when.All(when.First(1), when.After(5))), down("r", "clock", nil),
		chaos.Rule{Name: "known", Target: "clock", Fault: fault.Fail(errors.New("Injected fault"))})
	assert.Equal(t, []string{"Rule never of scenario s: the trigger matches no call.",
		`Rule known of scenario s: rule "r" decides every call that this one matches.`,
		`Rule known of scenario s: the text "Injected fault" contains "Injected", by which a model may know that this is a test.`},
		run(t, m, nil).Warnings)
}
