package report_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

// ownFaults runs a matrix with a scenario that rewrites prompts, and one that breaks
// something without rules. What it asks breaks in both, and not in the calm one.
func ownFaults(t *testing.T, o *contract.RunOptions) *contract.Report {
	m := &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				return "re " + prompt, nil
			}}, nil
		},
		Prompts: []string{"refund it"},
		Invariants: []contract.Invariant{{Name: "calm", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			if o.Cell.Scenario == "calm" {
				return nil
			}
			return errors.New("not calm: " + o.Cell.Scenario)
		}}},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "upper", Rewrite: strings.ToUpper}, {Name: "incident", Layer: chaos.LayerTool}},
	}
	r, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// TestScenariosThatBreakWithoutRules: every format says what was broken, and none says
// that nothing was.
func TestScenariosThatBreakWithoutRules(t *testing.T) {
	r := ownFaults(t, nil)
	const rewritten, own = "the prompt was rewritten; it was: refund it", "those that the scenario has by itself, in the layer"
	write := map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return report.Text(b, r, nil) },
		"markdown": func(b *bytes.Buffer) error { return report.Markdown(b, r, nil) },
		"html":     func(b *bytes.Buffer) error { return report.HTML(b, r, nil) },
		"junit":    func(b *bytes.Buffer) error { return report.JUnit(b, r, nil) },
	}
	for format, write := range write {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		text := html.UnescapeString(b.String())
		assert.Contains(t, text, rewritten, format)
		assert.Contains(t, text, "REFUND IT", format)
		assert.Contains(t, text, own, format)
		assert.NotContains(t, text, "without faults", format)
	}
}

// TestRewrittenWithoutEvidence: without the prompts, their number is still known.
func TestRewrittenWithoutEvidence(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, ownFaults(t, &contract.RunOptions{Keep: contract.KeepNone}), nil))
	assert.Contains(t, b.String(), "1 prompt was rewritten; the evidence was not kept")
	assert.Contains(t, b.String(), `those that the scenario has by itself, in the layer "tool"`)
}

// TestRewrittenInAFile: a report reads back as it was, and a contradiction is refused.
func TestRewrittenInAFile(t *testing.T) {
	r := ownFaults(t, &contract.RunOptions{Keep: contract.KeepAll})
	back := throughFile(t, r, nil)
	require.NotNil(t, back.Cells[1].Evidence.Original)
	assert.Equal(t, "refund it", *back.Cells[1].Evidence.Original)
	assert.Equal(t, 1, back.Cells[1].Rewritten)
	assert.Equal(t, chaos.LayerTool, back.Cells[2].Layer)
	assert.Nil(t, back.Cells[0].Evidence.Original)

	digest := report.CellDigestOf(r.Cells[1], true)
	assert.Equal(t, "refund it", digest.Evidence.Original)

	r.Cells[1].Rewritten = 2
	assert.EqualError(t, report.Write(io.Discard, r, nil),
		"contract: report.cells[1].rewritten is 2; allowed: 0 to the 1 of delivered")
}
