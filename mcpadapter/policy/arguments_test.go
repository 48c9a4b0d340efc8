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
			if _, had := a.members["confirm"]; had {
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
	for _, n := range []int{2, 17, 200} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"name%d":%d,`, i, i)
		}
		a, err := parseArguments(json.RawMessage("{" + b.String() + `"last":[{"x":1},{"x":2}]}`))
		require.NoError(t, err)
		assert.Len(t, a.members, n+1)
		assert.Equal(t, `[{"x":1},{"x":2}]`, string(a.members["last"]))
		for _, again := range []int{0, n / 2, n - 1} {
			_, err = parseArguments(json.RawMessage(fmt.Sprintf(`{%s"NAME%d":0}`, b.String(), again)))
			assert.ErrorContains(t, err, "more than once", "%d of %d", again, n)
		}
	}
}

// An argument costs its name, however long it is: no value is copied.
func TestArgumentsAreNotCopied(t *testing.T) {
	args := json.RawMessage(`{"name":"room-3","count":3,"deep":[[1,2],{"a":null}],"text":"` + strings.Repeat("x", 1<<16) + `"}`)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = parseArguments(args) }), 8.0)
}

// What reduces the needs of a call matches exactly, but for the case of ASCII letters.
func TestValuesOfAnAction(t *testing.T) {
	for _, tc := range []struct {
		value string
		want  any
		holds bool
	}{
		{`"LiSt"`, "list", true}, {`"li\u017ft"`, "list", false}, {`"\u00c9"`, "\u00e9", false}, {`"\u00c9t\u00e9"`, "\u00c9T\u00e9", true},
		{`" list"`, "list", false}, {`["list"]`, "list", false}, {`true`, true, true}, {`1.0`, 1, true}, {`null`, false, false},
	} {
		assert.Equal(t, tc.holds, holds(json.RawMessage(tc.value), []any{tc.want}), "%s %v", tc.value, tc.want)
	}
}
