package jsonhash_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// Text that is not JSON is hashed as bytes, so that white space changes the hash: by that the test recognises it.
func TestSumOfInvalid(t *testing.T) {
	for _, row := range []struct{ why, doc string }{
		{"trailing garbage", "{} x"}, {"two documents", "1 2"}, {"a comma behind the last element", "[1,]"},
		{"a comma behind the last member", `{"a":1,}`}, {"no comma", "[1 2]"}, {"no colon", `{"a" 1}`}, {"no value", `{"a":}`},
		{"a key that is no string", "{1:2}"}, {"the wrong bracket", "[1}"}, {"the wrong brace", `{"a":1]`},
		{"an open array", "[1"}, {"an open object", `{"a":1`}, {"an open key", `{"a`}, {"an object without members", "{"},
		{"an open string", `"a`}, {"an open escape", `"\`}, {"an open string behind an escape", `"\n`}, {"a short escape", `"\u12"`}, {"an unknown escape", `"\x41"`},
		{"a control character", "\"a\nb\""}, {"one behind an escape", "\"\\n\n\""}, {"one far into a string", `"` + strings.Repeat("x", 30) + "\x01\""},
		{"a leading zero", "01"}, {"a leading plus", "+1"}, {"a sign alone", "-"}, {"no digit before the point", ".5"},
		{"no digit behind it", "1."}, {"nor before an exponent", "1.e5"}, {"no exponent", "1e"}, {"nor behind its sign", "1e+"},
		{"hexadecimal", "0x10"}, {"not a number", "NaN"}, {"a word cut short", "tru"}, {"another word", "nul"}, {"a longer word", "nulll"},
		{"a byte order mark", "\ufeff{}"}, {"a form feed is no white space", "\f{}"}, {"single quotes", "'a'"}, {"a comment", "{} // no"},
		{"too deep", nested("[", "", "]", 10001)}, {"too deep in objects", nested(`{"a":`, "1", "}", 10001)},
	} {
		require.False(t, json.Valid([]byte(row.doc)), row.why)
		h := jsonhash.Sum([]byte(row.doc))
		assert.Equal(t, h, jsonhash.Sum([]byte(row.doc)), row.why)
		assert.NotEqual(t, h, jsonhash.Sum([]byte(row.doc+" ")), "%s: white space counts", row.why)
	}
}

func TestSumDoesNotAllocate(t *testing.T) {
	docs := corpus()
	docs["invalid"] = docs["args60"] + "x"
	docs["deep"] = nested("[", "", "]", 10000)
	docs["huge exponents"] = "[10e" + strings.Repeat("9", 100) + ",0.1e-1" + strings.Repeat("0", 100) + ",10e-1" + strings.Repeat("0", 100) + "]"
	docs["wrong bytes"] = "\"\xff" + strings.Repeat("\\n\xff", 1000) + "\""
	for name, doc := range docs {
		doc := []byte(doc)
		assert.Zero(t, testing.AllocsPerRun(10, func() { jsonhash.Sum(doc) }), name)
	}
}

// A megabyte of digits in the mantissa and in the exponent takes no more time than a text of that length.
func TestSumOfEnormousNumbers(t *testing.T) {
	nines, zeros := strings.Repeat("9", 1<<20), strings.Repeat("0", 1<<20)
	one := jsonhash.Sum([]byte("1e1" + zeros))
	assert.Equal(t, one, jsonhash.Sum([]byte("10e"+nines)))
	assert.Equal(t, one, jsonhash.Sum([]byte("0.1e1"+zeros[1:]+"1")))
	assert.NotEqual(t, one, jsonhash.Sum([]byte("1e"+nines)))
	assert.Equal(t, jsonhash.Sum([]byte("1e1048576")), jsonhash.Sum([]byte("1"+zeros)))
	assert.Equal(t, jsonhash.Sum([]byte("1e-1048577")), jsonhash.Sum([]byte("0."+zeros+"1")))
}

// documents draws values with edge cases: escapes, invalid text, long numbers, large exponents.
func documents() *rapid.Generator[string] {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?([0-9]{1,3}|9{17,37}|10{16,36}[01]))?`)
	text := rapid.Map(rapid.OneOf(rapid.String(), rapid.StringN(500, 530, -1)), func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	})
	value := rapid.OneOf(number, text, rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]", `""`}))
	for range 3 {
		inner := value
		list := rapid.SliceOfN(inner, 0, 4)
		key := rapid.OneOf(text, rapid.Just(`"a"`)) // often enough twice in one object
		object := rapid.Custom(func(t *rapid.T) string {
			var members []string
			for _, v := range list.Draw(t, "values") {
				members = append(members, key.Draw(t, "key")+":"+v)
			}
			return "{" + strings.Join(members, ",") + "}"
		})
		array := rapid.Map(list, func(s []string) string { return "[" + strings.Join(s, ",") + "]" })
		value = rapid.OneOf(inner, array, object)
	}
	return value
}

func TestSumLooksThroughSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := documents().Draw(t, "doc")
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		other := parse([]byte(doc)).respell(pick)
		require.Equal(t, canonical([]byte(doc)), canonical([]byte(other)), "the test's own spelling: %s", other)
		assert.Equal(t, jsonhash.Sum([]byte(doc)), jsonhash.Sum([]byte(other)), other)
	})
}

func TestSumTellsValuesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := []byte(documents().Draw(t, "a")), []byte(documents().Draw(t, "b"))
		assert.Equal(t, canonical(a) == canonical(b), jsonhash.Sum(a) == jsonhash.Sum(b))
		assert.NotZero(t, jsonhash.Sum(a))
	})
}
