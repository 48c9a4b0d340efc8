package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// The law of the bucket: in any stretch of time no more than burst + rate·time
// calls pass, and who waits as long as the hint says gets through.
func TestTheLawOfTheBucket(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := Limit{PerSecond: rapid.Float64Range(0.01, 1000).Draw(r, "rate"), Burst: rapid.IntRange(1, 20).Draw(r, "burst")}
		limiter := newLimiter()
		bounds := []bound{{key: bucketKey{what: "t"}, limit: &limit}}
		b := func(now time.Time) (hint string, ok bool) {
			if _, e := limiter.take(bounds, now); e != nil {
				return e.Hint, false
			}
			return "", true
		}
		now := time.Unix(0, 0)
		began, passed := now, 0
		for i, wait := range rapid.SliceOfN(rapid.Int64Range(0, int64(3*time.Second)), 1, 100).Draw(r, "waits") {
			now = now.Add(time.Duration(wait))
			hint, ok := b(now)
			if !ok {
				var d time.Duration
				if _, err := fmt.Sscanf(hint, "retry after %s", &hint); err != nil {
					r.Fatal(err)
				}
				d, err := time.ParseDuration(hint)
				if err != nil || d <= 0 {
					r.Fatalf("call %d: hint %q", i, hint)
				}
				now = now.Add(d)
				if _, ok = b(now); !ok {
					r.Fatalf("call %d: refused after waiting %v as told", i, d)
				}
			}
			passed++
			if most := float64(limit.Burst) + limit.PerSecond*now.Sub(began).Seconds() + 1e-6; float64(passed) > most {
				r.Fatalf("%d calls passed, at most %g may", passed, most)
			}
		}
	})
}

// A limiter remembers so many callers. The server's own limit is never forgotten.
func TestCallersAreForgottenInTurn(t *testing.T) {
	limiter, now := newLimiter(), time.Unix(0, 0)
	take := func(caller string) *Error {
		now = now.Add(time.Second)
		_, e := limiter.take([]bound{{key: bucketKey{what: "t"}, limit: &Limit{Budget: maxBuckets + 5}}, {key: bucketKey{"t", caller}, limit: &Limit{Budget: 1}}}, now)
		return e
	}
	for i := range maxBuckets + 5 {
		assert.Nil(t, take(fmt.Sprint(i)))
	}
	assert.LessOrEqual(t, len(limiter.buckets), maxBuckets)
	assert.NotNil(t, take("last"))
}
