package suite_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/shakedown-go/shakedown/contract/suite"
)

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(suite.Schema(nil), &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	return r
}

// validates checks a YAML text as JSON.
func validates(t *testing.T, r *jsonschema.Resolved, text string) error {
	t.Helper()
	var doc any
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	var plain any
	require.NoError(t, json.Unmarshal(data, &plain))
	return r.Validate(plain)
}

// The schema takes every valid file, and every type with its keys.
func TestTheSchemaTakesWhatIsRead(t *testing.T) {
	r := resolved(t)
	for name, data := range valid(t) {
		assert.NoError(t, validates(t, r, string(data)), name)
	}
	for _, row := range effectsOfKinds() {
		params := ""
		if row.params != "" {
			params = ", " + row.params
		}
		assert.NoError(t, validates(t, r, contractOf("{id: it, type: "+row.kind+params+"}", row.scenario)), row.kind)
	}
}

// What the schema refuses, the reader refuses; of what the reader refuses, these rows say
// which the schema finds too.
func TestWhereSchemaAndReaderDiffer(t *testing.T) {
	r := resolved(t)
	for _, row := range []struct {
		why, old, now string
		schema        bool // it refuses too
	}{
		{"a key that is not known", "trials: 2", "trial: 2", true},
		{"a key of another type of invariant", "effects: refunds", "effects: refunds, pattern: x", true},
		{"a missing key", "pattern: '\\$\\d', ", "", true},
		{"a type", "at_most_once", "at_most", true},
		{"a severity", "severity: critical", "severity: bad", true},
		{"when", "tool_faults_active", "tools", true},
		{"what is negated", "type: completes", "type: completes, negate: true", true},
		{"a mode", "mode: slow", "mode: slower", true},
		{"a key of another mode", "mode: slow", "mode: slow, error_code: 503", true},
		{"a status that is none", "error_code: 503", "error_code: 200", true},
		{"a fault of a model without its place", "tool_faults: [{tool: refund, mode: slow}]",
			"llm_faults: [{mode: empty}]", true},
		{"a number of trials", "trials: 2", "trials: 0", true},
		{"a version", `version: "2.0"`, `version: "1.0"`, true},

		{"a name twice", "id: no-figures", "id: one-refund", false},
		{"a pattern", `'\$\d'`, "'('", false},
		{"a duration", "timeout: 1m", "timeout: soon", false},
		{"effects without a function", "effects: refunds", "effects: refund", false},
		{"a probability", "mode: slow", "mode: slow, probability: 2", false},
		{"a rule", "kind: lost_reply", "kind: lost", false},
		{"a fault without a tool", "tool: refund, mode: slow", "mode: slow", false},
		{"a kind of mutation", "[noise, prompt", "[noisy, prompt", false},
		{"the sum of the weights", "replay: 0.1", "replay: 0.2", false},
		{"a file that is not there", "refund-1042.json", "none.json", false},
		{"a hole of a session", "response: {id: R-7}, ", "", false},
		{"an invariant that is never asked", "when: no_chaos", "when: llm_faults_active", false},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, text := refused(t, row.old, row.now) // the reader refuses it
			err := validates(t, r, text)
			assert.Equal(t, row.schema, err != nil, "%v", err)
		})
	}
}
