package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// TestEqualAnswersAreAWarning: an agent that says the same whatever happens, and of which
// nothing is seen to work, may never have reached its model.
func TestEqualAnswersAreAWarning(t *testing.T) {
	call := func(ctx context.Context, tools chaos.ToolRegistry, args string) error {
		_, err := tools.CallTool(ctx, "clock", json.RawMessage(args))
		return err
	}
	sorry := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		_ = call(ctx, tools, `"not what it takes"`) // as a model that cannot be reached
		return "Sorry", nil
	}
	for _, tc := range []struct {
		why    string
		agent  contract.Agent
		change func(*contract.Matrix)
		want   string
	}{
		{"faults and none", sorry, nil, `All 2 answers are the same, with faults and without: "Sorry". No call`},
		{"several prompts", sorry, func(m *contract.Matrix) { m.Scenarios, m.Prompts = m.Scenarios[:1], []string{"When?", "Where?"} },
			`All 2 answers are the same, whatever the prompt: "Sorry". No call`},
		{"one prompt, without faults", sorry, func(m *contract.Matrix) { m.Scenarios, m.Trials = m.Scenarios[:1], 3 }, ""},
		{"faults alone", sorry, func(m *contract.Matrix) { m.Scenarios, m.Trials = m.Scenarios[1:], 3 }, ""},
		{"its work is done", func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			_ = call(ctx, tools, `{}`)
			return "done", nil
		}, nil, ""},
		{"its work shows in the state", sorry, func(m *contract.Matrix) {
			made, n := m.NewWorld, 0
			m.Invariants[0].Needs = contract.NeedState
			m.NewWorld = func(ctx context.Context) (*contract.World, error) {
				w, err := made(ctx)
				w.State = func(context.Context) (any, error) { n++; return n, nil }
				return w, err
			}
		}, ""},
		{"it says what it met", func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			if err := call(ctx, tools, `"no"`); errors.Is(err, chaos.ErrInjected) {
				return "It is down", nil
			}
			return "Sorry", nil
		}, nil, ""},
	} {
		m := matrix(t, tc.agent, func(m *contract.Matrix) { m.Scenarios = append(m.Scenarios[:1:1], stormy()) })
		if tc.change != nil {
			tc.change(m)
		}
		got := ""
		for _, w := range run(t, m, &contract.RunOptions{Workers: 1}).Warnings {
			if strings.HasPrefix(w, "All ") {
				got = w
			}
		}
		assert.True(t, strings.HasPrefix(got, tc.want) && (tc.want != "" || got == ""), "%s: %q", tc.why, got)
	}
}
