package contract_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// wordless is a fault without a description.
type wordless struct{}

func (wordless) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// toolList is a registry of tools that nobody calls.
type toolList []chaos.Tool

func (l toolList) Tools(context.Context) ([]chaos.Tool, error) { return l, nil }
func (toolList) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

func fingerprinted() *contract.Matrix {
	held := func(context.Context, *contract.Observation) error { return nil }
	return &contract.Matrix{Name: "desk", Seed: 3, Trials: 2, Prompts: []string{"SECRET-4410 refund"},
		NewWorld: func(context.Context) (*contract.World, error) { return nil, nil },
		Scenarios: []contract.Scenario{contract.Calm(), contract.Under("flaky",
			chaos.Rule{Target: "refund", When: when.Prob(0.5), Fault: fault.Delay(time.Second)},
			chaos.Rule{Target: "mail", Fault: wordless{}})},
		Invariants: []contract.Invariant{{Name: "one-refund", Severity: contract.High, Check: held},
			{Name: "polite", Severity: contract.Low, Check: held, Probes: []string{"SECRET-4410 hello"}}}}
}

// TestFingerprint: each part that is data changes the sum, and code does not.
func TestFingerprint(t *testing.T) {
	of := func(m *contract.Matrix) *contract.Fingerprint {
		f, err := m.Fingerprint()
		require.NoError(t, err)
		require.NoError(t, f.Check())
		return f
	}
	base := of(fingerprinted())
	assert.Equal(t, base, of(fingerprinted()))
	assert.Equal(t, "e8352dd69b130c31bb300e2a9f06ae5370c771e984f16db0bc05a0dc8ba37719", base.Sum, "a baseline of an older version must stay comparable: never change this")
	text, err := json.Marshal(base)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "4410")
	for _, row := range []struct {
		why    string
		same   bool
		change func(m *contract.Matrix)
	}{
		{"name", false, func(m *contract.Matrix) { m.Name = "shop" }},
		{"seed", false, func(m *contract.Matrix) { m.Seed++ }},
		{"trials", false, func(m *contract.Matrix) { m.Trials++ }},
		{"sharing", false, func(m *contract.Matrix) { m.ShareObservations = true }},
		{"prompt", false, func(m *contract.Matrix) { m.Prompts[0] += "." }},
		{"prompts divided otherwise", false, func(m *contract.Matrix) { m.Prompts = strings.Fields(m.Prompts[0]) }},
		{"prompts of a scenario", false, func(m *contract.Matrix) { m.Scenarios[0].Prompts = []string{"hello"} }},
		{"probe", false, func(m *contract.Matrix) { m.Invariants[1].Probes[0] += "." }},
		{"severity", false, func(m *contract.Matrix) { m.Invariants[0].Severity = contract.Low }},
		{"rate", false, func(m *contract.Matrix) { m.Invariants[0].AtLeast = 0.9 }},
		{"scope", false, func(m *contract.Matrix) { m.Invariants[0].Applies = contract.AnyFault }},
		{"name of an invariant", false, func(m *contract.Matrix) { m.Invariants[0].Name = "two-refunds" }},
		{"order of scenarios", true, func(m *contract.Matrix) {
			m.Scenarios[0], m.Scenarios[1] = m.Scenarios[1], m.Scenarios[0]
		}},
		{"target", false, func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Target = "refunds" }},
		{"parameter of a trigger", false, func(m *contract.Matrix) { m.Scenarios[1].Rules[0].When = when.Prob(0.6) }},
		{"parameter of a fault", false, func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Fault = fault.Delay(2 * time.Second) }},
		{"fault", false, func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Fault = fault.Fail(fault.ErrUnavailable) }},
		{"a fault without a description, by its type", false, func(m *contract.Matrix) {
			m.Scenarios[1].Rules[1].Fault = struct{ wordless }{}
		}},
		{"limit", false, func(m *contract.Matrix) { m.Scenarios[1].Rules[0].Limit = 1 }},
		{"layer", false, func(m *contract.Matrix) { m.Scenarios[0].Layer = chaos.LayerTool }},
		{"rewriting", false, func(m *contract.Matrix) { m.Scenarios[0].Rewrite = strings.ToUpper }},
		{"accepting undelivered faults", false, func(m *contract.Matrix) { m.Scenarios[1].AllowUndelivered = true }},
		{"a check", true, func(m *contract.Matrix) {
			m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
		}},
		{"one trial, by default or not", true, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			m, own := fingerprinted(), base.Sum
			if row.change != nil {
				row.change(m)
			} else {
				m.Trials = 0
				own = of(m).Sum
				m.Trials = 1
			}
			assert.Equal(t, row.same, own == of(m).Sum)
		})
	}
	wrong := fingerprinted()
	wrong.Invariants = nil
	_, err = wrong.Fingerprint()
	require.ErrorContains(t, err, "Invariants")
	base.Prompts = "0"
	require.ErrorContains(t, base.Check(), "contract: fingerprint.sum")
}

// TestReportHasTheFingerprint: it is the matrix's, with the tools of its worlds.
func TestReportHasTheFingerprint(t *testing.T) {
	m := fingerprinted()
	schema := `{"type":"object","required":["order"]}`
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Tools: toolList{{Name: "refund", InputSchema: json.RawMessage(schema)}, {Name: "mail"}}, Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return "", nil
		}}, nil
	}
	r, err := m.Run(context.Background(), nil)
	require.NoError(t, err)
	want, err := m.Fingerprint()
	require.NoError(t, err)
	assert.Equal(t, want, r.Fingerprint)
	require.Len(t, r.Tools, 2)
	tools := r.Tools
	schema = `{ "required": ["order"], "type": "object" }`
	r, err = m.Run(context.Background(), nil)
	require.NoError(t, err)
	assert.Equal(t, tools, r.Tools, "another spelling of the schema")
	schema = `{"type":"object","required":["id"]}`
	r, err = m.Run(context.Background(), nil)
	require.NoError(t, err)
	assert.NotEqual(t, tools, r.Tools)
}
