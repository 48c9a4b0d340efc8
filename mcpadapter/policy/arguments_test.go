package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the gate accepts, every decoder of a handler has to read in the same way:
// the standard library's, which ignores case, and one that takes the first of
// several members.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"confirm":true}`, `{"dry_run":true,"Dry_Run":false}`, `{"a":{"b":1,"B":2}}`, `[{"a":1}]`, `null`, ``, `{"a":1}{"a":2}`, "{\"\xff\":1}",
		`{"confirm":true,"op":[{"x":"ForceOff"}]}`, `{"\u017f":1,"s":2}`, `{"a":`, `{"a":1,}`, `{"confirm":true,"n":1e400}`, "\vnull"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseArguments(json.RawMessage(text))
		if err != nil {
			return
		}
		if strings.TrimSpace(text) != "" {
			require.True(t, json.Valid([]byte(text)), "accepted what is no JSON")
		}
		var loose struct {
			Confirm json.RawMessage `json:"confirm"`
			DryRun  json.RawMessage `json:"dry_run"`
		}
		if len(a.members) > 0 {
			require.NoError(t, json.Unmarshal([]byte(text), &loose))
		}
		dry, has := a.loose("dry_run")
		assert.Equal(t, has, loose.DryRun != nil)
		assert.Equal(t, strings.TrimSpace(string(dry)), strings.TrimSpace(string(loose.DryRun)), "a decoder that ignores case read another value")
		if yes, _ := a.confirmed(); yes {
			assert.Equal(t, "true", string(loose.Confirm))
		}
		rest, err := a.withoutConfirm()
		require.NoError(t, err)
		if len(a.members) > 0 {
			var left map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(rest, &left))
			assert.NotContains(t, left, "confirm")
			if _, had := a.exact("confirm"); had {
				assert.Len(t, left, len(a.members)-1)
			}
		}
	})
}

func TestFoldingIsThatOfDecoders(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"dry_run", "DRY_RUN", true}, {"k", "\u212a", true}, {"s", "\u017f", true}, {"é", "É", true}, {"ß", "ss", false}, {"i", "ı", false}, {"a", "а", false},
	} {
		assert.Equal(t, tc.same, fold(tc.a) == fold(tc.b), "%q %q", tc.a, tc.b)
		assert.Equal(t, tc.same, strings.EqualFold(tc.a, tc.b), "%q %q", tc.a, tc.b)
	}
}
