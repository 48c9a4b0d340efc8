package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the gate accepts, every decoder of a handler has to read in the same way:
// the standard library's, which ignores case, and one that takes the first of
// several members.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"confirm":true}`, `{"dry_run":true,"Dry_Run":false}`, `{"a":{"b":1,"B":2}}`, `[{"a":1}]`, `null`, ``, `{"a":1}{"a":2}`, "{\"\xff\":1}",
		`{"confirm":true,"op":[{"x":"ForceOff"}]}`, `{"\u017f":1,"s":2}`, `{"a":`, `{"a":1,}`, `{"confirm":true,"n":1e400}`, "\vnull", `{"a":[1,{"x":"}\"","X\\u0058":[]}],"b":{"\\u0061":1,"A":2}}`, `{"":{"":1}}`, `{"\\ud800":1,"\\ud801":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseArguments(json.RawMessage(text))
		if trimmed := strings.Trim(text, " \t\r\n"); strings.HasPrefix(trimmed, "{") && utf8.ValidString(text) && json.Valid([]byte(text)) {
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			assert.Equal(t, ambiguous(t, dec, 0), err != nil, "%v", err)
		}
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

// ambiguous is the oracle for what parseArguments refuses: it compares every name
// with every other.
func ambiguous(t *testing.T, dec *json.Decoder, depth int) bool {
	token, err := dec.Token()
	require.NoError(t, err)
	delim, ok := token.(json.Delim)
	if !ok {
		return false
	}
	found := depth >= maxDepth
	var names []string
	for dec.More() {
		if delim == '{' {
			name, err := dec.Token()
			require.NoError(t, err)
			for _, other := range names {
				found = found || strings.EqualFold(other, name.(string))
			}
			names = append(names, name.(string))
		}
		found = ambiguous(t, dec, depth+1) || found
	}
	_, err = dec.Token()
	require.NoError(t, err)
	return found
}

func TestManyNames(t *testing.T) {
	for _, n := range []int{2, fewNames, fewNames + 1, 200} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"name%d":%d,`, i, i)
		}
		a, err := parseArguments(json.RawMessage("{" + b.String() + `"last":[{"x":1},{"x":2}]}`))
		require.NoError(t, err)
		assert.Len(t, a.members, n+1)
		assert.Equal(t, `[{"x":1},{"x":2}]`, string(a.members[n].value))
		for _, again := range []int{0, n / 2, n - 1} {
			_, err = parseArguments(json.RawMessage(fmt.Sprintf(`{%s"NAME%d":0}`, b.String(), again)))
			assert.ErrorContains(t, err, "more than once", "%d of %d", again, n)
		}
	}
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
