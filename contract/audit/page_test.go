package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestVerdictOfAResult(t *testing.T) {
	of := func(v audit.Verdict) audit.ToolResult { return audit.ToolResult{Verdict: v} }
	refused := audit.ToolResult{Verdict: audit.Unknown, Planned: audit.Planned{Refused: "it is not allowed by its name"}}
	lies := audit.ToolResult{Verdict: audit.Safe, ReadOnly: audit.Contradicted}
	for why, tc := range map[string]struct {
		tools []audit.ToolResult
		want  scoring.Verdict
	}{
		"nothing was called":             {[]audit.ToolResult{refused}, scoring.Inconclusive},
		"what was called is safe":        {[]audit.ToolResult{of(audit.Safe), refused, of(audit.SafeWithKey)}, scoring.Pass},
		"one could not be told":          {[]audit.ToolResult{of(audit.Safe), of(audit.Unknown)}, scoring.Inconclusive},
		"one doubles":                    {[]audit.ToolResult{of(audit.Unknown), of(audit.Doubles)}, scoring.Fail},
		"one is safe, and not read-only": {[]audit.ToolResult{lies}, scoring.Fail},
	} {
		assert.Equal(t, tc.want, (&audit.Result{Tools: tc.tools}).Verdict(), why)
	}
}

// A page has the worst first, and all that was sent, and markup of a tool is text.
func TestPage(t *testing.T) {
	evidence := func(v audit.Verdict, answer string) []audit.Evidence {
		return []audit.Evidence{{Tool: "t", Treatment: "reply-lost", Verdict: v, Why: "because", Calls: []audit.Call{
			{Of: "one call", Args: []byte(`{"a":1}`), Result: []byte(answer), End: time.Millisecond}, {Of: "treatment", Args: []byte(`{"a":1}`), Err: "lost"}},
			States: []audit.State{{When: "after", Value: []byte(`{"made":2}`)}}}}
	}
	r := &audit.Result{StateNote: "The state is made up.", Tools: []audit.ToolResult{
		{Planned: audit.Planned{Tool: "fine"}, Verdict: audit.Safe, Evidence: evidence(audit.Safe, `"ok"`)},
		{Planned: audit.Planned{Tool: "left", Refused: "it is not allowed by its name"}, Verdict: audit.Unknown},
		{Planned: audit.Planned{Tool: "bad"}, Verdict: audit.Doubles, Evidence: evidence(audit.Doubles, `"<script>alert(1)</script>"`)},
	}}
	var page strings.Builder
	require.NoError(t, r.HTML(&page))
	at := 0
	for _, want := range []string{"FAIL", "of 3 tools: 1 doubles, 1 safe, 1 not called", "The state is made up.", "not called, since it is not allowed by its name: left",
		"bad: doubles", "fine: safe", "t / reply-lost: doubles", "because", "one call, from 0s to 1ms: {&#34;a&#34;:1}", "alert(1)", "treatment, from 0s to 0s", "lost",
		"after: {&#34;made&#34;:2}", "t / reply-lost: safe"} {
		i := strings.Index(page.String()[at:], want)
		require.GreaterOrEqual(t, i, 0, "%q is not on the page, or not in its place", want)
		at += i
	}
	assert.NotContains(t, page.String(), "<script>alert")
}
