package contract_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// TestPointsAreLearned: a point that some run called needs no declaration. A target
// that is the name of nothing is a warning, with StrictPoints an error.
func TestPointsAreLearned(t *testing.T) {
	nothing := func(context.Context, int) (int, error) { return 0, nil }
	ledger, backup := chaos.Wrap("ledger", nothing), chaos.Wrap("backup", nothing)
	model := chaos.WrapWith("POST api.test/v1/messages#small", nothing, &chaos.WrapOptions[int]{Alias: "POST api.test/v1/messages"})
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		if tools != nil {
			_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
		}
		if _, err := ledger(ctx, 1); err != nil {
			_, _ = backup(ctx, 1)
		}
		_, _ = model(ctx, 1)
		return "done", nil
	}
	const unmet = `Rule r of scenario s: the target %q matches no tool, no declared point and no point that any run called`
	warning := func(target, nearest string) []string {
		text := strings.Replace(unmet, "%q", `"`+target+`"`, 1)
		if nearest != "" {
			text += `; the nearest name is "` + nearest + `"`
		}
		return []string{text + "."}
	}
	for _, tc := range []struct {
		why    string
		target string
		when   chaos.When
		change func(*contract.Matrix)
		want   []string
		strict bool // an error with StrictPoints
	}{
		{"a tool", "clock", nil, nil, nil, false},
		{"a wrapped function that the calm run called", "ledger", nil, nil, nil, true},
		{"the same, with a rule that matches none of its calls", "ledger", when.Args("never", func(any) bool { return false }), nil, nil, true},
		{"a point by its other name", "POST api.test/v1/messages", when.Args("never", func(any) bool { return false }), nil, nil, true},
		{"a misspelt tool", "clcok", nil, nil, warning("clcok", "clock"), true},
		{"a misspelt point", "legder", nil, nil, warning("legder", "ledger"), true},
		{"a glob of nothing", "payments.*", nil, nil, warning("payments.*", ""), true},
		{"a declared point that nobody called", "queue", nil, func(m *contract.Matrix) { m.Points = []string{"queue"} }, nil, false},
		{"a fallback, reached only under faults", "backup", when.Nth(1), func(m *contract.Matrix) {
			m.Scenarios[1].Rules = append(m.Scenarios[1].Rules, down("first", "ledger", nil))
		}, nil, true},
		{"a misspelt tool, and no calm run", "clcok", nil, func(m *contract.Matrix) { m.Scenarios = m.Scenarios[1:] }, warning("clcok", "clock"), true},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			m := ruleMatrix(t, agent, down("r", tc.target, tc.when))
			if tc.change != nil {
				tc.change(m)
			}
			assert.Equal(t, tc.want, run(t, m, o).Warnings, "%s in %s", tc.why, name)
			m.StrictPoints = true
			_, err := m.Run(t.Context(), o)
			assert.Equal(t, tc.strict, err != nil, "%s, strict: %v", tc.why, err)
		}
	}
}

// TestPointsOfHTTPNeedNoRegistry and no declaration: the name of a request is no
// tool's. Its faults are those of a model where it asks one.
func TestPointsOfHTTPNeedNoRegistry(t *testing.T) {
	client := chaoshttp.WrapClient(&http.Client{Transport: chaoshttp.InProcess(http.NotFoundHandler())})
	m := matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test/v1/messages", strings.NewReader(`{"model":"m"}`))
				if err != nil {
					return "", err
				}
				resp, err := client.Do(r)
				if err != nil {
					return "", err
				}
				return resp.Status, resp.Body.Close()
			}}, nil
		}
		m.Scenarios = append(m.Scenarios, contract.Under("down", chaos.Rule{Target: "POST api.test/v1/messages", Fault: fails{}}),
			contract.Under("other", chaos.Rule{Target: "GET api.test/*", Fault: fails{}}))
		m.Scenarios[2].AllowUndelivered = true
		m.Invariants[0].JudgesErrors, m.Invariants[0].Applies = true, contract.LLMFaults
	})
	r := run(t, m, nil)
	require.Len(t, r.Cells, 1, "the second is no call of a model")
	assert.Equal(t, 1, r.Cells[0].Delivered)
	m.Scenarios = append(m.Scenarios, contract.Under("tool", chaos.Rule{Target: "refund", Fault: fails{}}))
	_, err := m.Run(t.Context(), nil)
	assert.ErrorContains(t, err, `Scenarios[3].Rules: chaos: rule "refund:contract_test.fails"`, "a tool's faults need tools")
	assert.NotContains(t, err.Error(), "GET api.test")
}

func TestUnder(t *testing.T) {
	rules := []chaos.Rule{down("r", "clock", nil), down("q", "bell", nil)}
	assert.Equal(t, contract.Scenario{Name: "s", Rules: rules}, contract.Under("s", rules...))
	assert.Equal(t, contract.Calm(), contract.Under("calm"))
}

// TestUnderCopiesItsRules: a caller that changes its list later changes no scenario.
func TestUnderCopiesItsRules(t *testing.T) {
	rules := []chaos.Rule{{Target: "a"}, {Target: "b"}}
	s := contract.Under("down", rules...)
	rules[0].Target = "c"
	assert.Equal(t, contract.Scenario{Name: "down", Rules: []chaos.Rule{{Target: "a"}, {Target: "b"}}}, s)
	assert.Equal(t, contract.Scenario{Name: "none"}, contract.Under("none"))
}
