package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/suite"
)

// A session is a scenario with broken tools if its tools failed, as replay.Scenarios says.
// A model is not played, so its failure breaks nothing: the invariants for calm scenarios
// are asked there.
func TestASessionIsBrokenByItsToolsAlone(t *testing.T) {
	for _, tt := range []struct {
		why, first string
		want       chaos.Layer
	}{
		{"a tool failed", `{"tool": "refund", "args": {}, "error": {"text": "i/o timeout"}, "effect": "none"}`, chaos.LayerTool},
		{"a tool only seems to have failed", `{"tool": "refund", "args": {}, "result": "Error: no", "effect": "none", "suspected": true}`, chaos.LayerTool},
		{"a model failed", `{"type": "model", "tool": "gpt-5", "args": {}, "error": {"text": "overloaded", "status": 529}}`, ""},
		{"nothing failed", `{"tool": "refund", "args": {}, "result": 1, "effect": "none"}`, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			path := fixture(t, "refunds.yaml", func(text string) string { return text })
			session := filepath.Join(filepath.Dir(path), "replays", "refund-1042.json")
			data, err := os.ReadFile(session)
			require.NoError(t, err)
			from, to := strings.Index(string(data), `{"tool": "refund", "args"`), strings.Index(string(data), `"30s"},`)
			changed := string(data[:from]) + tt.first + "," + string(data[to+len(`"30s"},`):])
			require.NoError(t, os.WriteFile(session, []byte(changed), 0o600))
			s, err := suite.Load(path, options())
			require.NoError(t, err)
			for name, m := range s.Matrices(world(2)) {
				if name == "replay" {
					assert.Equal(t, tt.want, m.Scenarios[0].Layer)
				}
			}
		})
	}
}
