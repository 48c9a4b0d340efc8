package contracttest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// The log has no secret in any of what was said, and the report has all of it.
func TestTheLoggedReportIsWithoutSecrets(t *testing.T) {
	const secret = "magnolia-7"
	said := "it was " + secret
	value := json.RawMessage(`"` + secret + `"`)
	result := &contract.Report{Warnings: []string{said}, SearchStopped: said,
		Goals: []contract.GoalCount{{Goal: "g", Failed: said}},
		Cells: []contract.CellReport{{Severity: contract.High, State: contract.Broken, Violated: true, Why: said, Evidence: &contract.Observation{
			Prompt: said, Response: said, Original: &said, Err: errors.New(said),
			Events: []chaos.Event{{Err: said, Note: said, Changes: []chaos.Change{{Path: "/a", Before: value, After: value}}}},
		}}}}
	before, err := json.Marshal(result)
	require.NoError(t, err)
	r := &runner{o: &Options{}, secrets: redact.New([]string{secret}, redact.Patterns)}
	own := r.redacted(result)
	shown, err := json.Marshal(own)
	require.NoError(t, err)
	assert.NotContains(t, string(shown), secret)
	assert.NotContains(t, own.Cells[0].Evidence.Err.Error(), secret)
	after, err := json.Marshal(result)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}
