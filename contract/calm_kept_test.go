package contract_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

// The first trial of a scenario in which nothing is broken keeps the answers to all prompts, once for the
// invariants that judge the same ones.
func TestCalmAnswersAreKept(t *testing.T) {
	m := flakyMatrix(t, busy)
	m.KeepValues = true
	scenarios, prompts := map[string]bool{}, 0
	for _, s := range m.Scenarios {
		scenarios[s.Name] = len(s.Rules) == 0 && s.Rewrite == nil && s.Layer == ""
	}
	for _, keep := range []contract.KeepPolicy{contract.KeepBroken, contract.KeepAll, contract.KeepNone} {
		r := run(t, m, &contract.RunOptions{Keep: keep})
		lists := map[string]int{}
		for i := range r.Cells {
			c := &r.Cells[i]
			if len(c.Calm) == 0 {
				continue
			}
			assert.True(t, scenarios[c.Cell.Scenario], c.Cell)
			assert.Equal(t, 1, c.Cell.Trial, c.Cell)
			spelled := ""
			for _, o := range c.Calm {
				spelled += o.Prompt
				prompts++
				require.NotEmpty(t, o.Response)
				for _, e := range o.Events {
					assert.Nil(t, e.Args)
					assert.Nil(t, e.Result)
				}
			}
			lists[c.Cell.Scenario+spelled]++
		}
		for list, n := range lists {
			assert.Equal(t, 1, n, list)
		}
		assert.Equal(t, keep != contract.KeepNone, len(lists) > 0, keep)
		var whole, bare bytes.Buffer
		require.NoError(t, r.WriteRun(&whole, false, false))
		require.NoError(t, r.WriteRun(&bare, false, true))
		assert.NotContains(t, bare.String(), `"calm":[`, "evidence")
		back := new(contract.Report)
		require.NoError(t, back.ReadRun(bytes.NewReader(whole.Bytes()), false))
		for i := range r.Cells {
			assert.Equal(t, plain(t, r.Cells[i].Calm), plain(t, back.Cells[i].Calm))
		}
	}
	assert.Greater(t, prompts, 2, "of several prompts each")
}

func TestCalmAnswersAreRedacted(t *testing.T) {
	c := contract.CellReport{Severity: contract.Low, Calm: []*contract.Observation{{Prompt: "secret", Response: "a secret"}}}
	before := c.Calm[0]
	c.Redact(func(s string) string { return strings.ReplaceAll(s, "secret", "[redacted]") })
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "secret")
	assert.Equal(t, "a secret", before.Response, "the observation stays as it was")
}
