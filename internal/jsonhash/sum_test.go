package jsonhash_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

func nested(open, inner, closing string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
}

// Each row is one value in several spellings; all values differ.
func values() []struct {
	why       string
	spellings []string
} {
	long := strings.Repeat("long text ", 120)
	return []struct {
		why       string
		spellings []string
	}{
		{"no arguments, at the top level", []string{"", " \r\n\t", "{}", " { } ", "null", "\nnull "}},
		{"null inside", []string{"[null]", " [ null ] "}},
		{"an empty object inside", []string{"[{}]"}},
		{"an empty array", []string{"[]", "[ ]"}},
		{"an empty array inside", []string{"[[]]"}},
		{"an empty string", []string{`""`}},
		{"a member that is null", []string{`{"a":null}`}},
		{"a member that is an empty object", []string{`{"a":{}}`}},
		{"true", []string{"true"}}, {"false", []string{"false"}},
		{"zero", []string{"0", "-0", "0.0", "-0.00", "0e9", "0E-99999999999999999999999", "0." + strings.Repeat("0", 50)}},
		{"one", []string{"1", "1.0", "1e0", "10e-1", "0.1E+1", "1E-0", "1" + strings.Repeat("0", 60) + "e-60"}},
		{"minus one", []string{"-1", "-1.000", "-10e-1"}},
		{"one as text", []string{`"1"`, `"\u0031"`}},
		{"a power of ten", []string{"1000", "1e3", "1.0e+3", "0.001e6"}},
		{"seventeen digits", []string{"12345678901234567", "1.2345678901234567e16"}},
		{"eighteen digits", []string{"123456789012345678", "1.23456789012345678e17", "123456789012345678.0"}},
		{"its neighbour, which no float64 tells apart", []string{"123456789012345679"}},
		{"a tenth", []string{"0.1", "1e-1"}},
		{"a little more, which no float64 tells apart", []string{"0.1000000000000000000000001"}},
		{"zeros between digits", []string{"1000000000000000000000000000000000002", "1.000000000000000000000000000000000002e36"}},
		{"fewer of them", []string{"100000000000000000000000000000000002"}},
		{"an exponent of seventeen digits", []string{"1e99999999999999998", "10e99999999999999997", "0.1e0099999999999999999"}},
		{"a longer one, which counts as it is written", []string{"1e100000000000000000"}},
		{"its negative", []string{"1e-100000000000000000", "1.0e-100000000000000000"}},
		{"letters", []string{`"A/é"`, `"\u0041\/\u00e9"`, `"\u0041\u002F\u00E9"`}},
		{"a combining accent is another text", []string{`"A/e\u0301"`}},
		{"control characters", []string{`"\n\t\b\f\r\u0000"`, `"\u000a\u0009\u0008\u000C\u000d\u0000"`}},
		{"beyond the basic plane", []string{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`}},
		{"what is no character", []string{`"` + "\uFFFD" + `"`, `"\ufffd"`, `"\ud800"`, `"\udc00"`, "\"\xff\""}},
		{"two of them", []string{`"\ud800\ud800"`, `"\udc00\ud83d"`, "\"\xff\xfe\"", "\"\xf0\x9f\"", `"\ufffd\ud83d"`}},
		{"half a pair before a letter", []string{`"\ud800A"`, `"\ud800\u0041"`, "\"\xc3A\""}},
		{"half a pair before a whole one", []string{`"\ud800\ud83d\ude00"`, "\"\xff😀\""}},
		{"a long text", []string{`"` + long + `"`, `"\u006c` + long[1:] + `"`, `"` + long[:600] + `\u` + fmt.Sprintf("%04x", long[600]) + long[601:] + `"`}},
		{"an array has an order", []string{"[1,2]", " [ 1.0 , 2e0 ] "}}, {"the other order", []string{"[2,1]"}},
		{"an array is not its last elements", []string{"[[1,2]]"}}, {"nor flat", []string{"[[1],2]"}}, {"to either side", []string{"[1,[2]]"}},
		{"an object has none", []string{`{"a":1,"b":[2]}`, `{"b":[2.0],"\u0061":1}`}},
		{"values belong to their keys", []string{`{"b":1,"a":[2]}`}},
		{"a key that occurs twice", []string{`{"a":1,"a":2}`, `{"a":2,"\u0061":1}`}},
		{"is not one that occurs once", []string{`{"a":2}`}}, {"nor one that repeats its value", []string{`{"a":2,"a":2}`}},
		{"members belong to their object", []string{`{"x":{"a":1},"y":{"b":2}}`, `{"y":{"b":2},"x":{"a":1}}`}},
		{"and not to its neighbour", []string{`{"x":{"b":2},"y":{"a":1}}`}},
		{"deeper than one frame", []string{nested("[", "1", "]", 20), nested(" [ ", "1.0", "\n]", 20)}},
		{"one less", []string{nested("[", "1", "]", 19)}},
		{"at the limit", []string{nested("[", "", "]", 10000)}}, {"and in objects", []string{nested(`{"a":`, "1", "}", 10000)}},
	}
}

func TestSum(t *testing.T) {
	seen := map[uint64]string{}
	for _, row := range values() {
		want := jsonhash.Sum([]byte(row.spellings[0]))
		require.NotContains(t, seen, want, "%s is the same as %s", row.why, seen[want])
		seen[want] = row.why
		reference := canonical([]byte(row.spellings[0]))
		for _, s := range row.spellings {
			assert.Equal(t, want, jsonhash.Sum([]byte(s)), "%s: %.80s", row.why, s)
			assert.Equal(t, reference, canonical([]byte(s)), "the reference on %s: %.80s", row.why, s)
		}
	}
}

func TestSumOfNil(t *testing.T) {
	assert.Equal(t, jsonhash.Sum([]byte("{}")), jsonhash.Sum(nil))
}

func TestSame(t *testing.T) {
	for _, tc := range []struct {
		reason string
		a, b   string
		same   bool
	}{
		{"order and white space of an object", `{"a":1,"b":2}`, ` { "b" : 2.0, "a" : 1 } `, true},
		{"an escape", `"\u00e9"`, `"é"`, true},
		{"another number", `[1]`, `[2]`, false},
		{"an empty object is not null", `{}`, `null`, false},
		{"nothing is not null", ``, `null`, false},
		{"nothing is not an empty object", ``, `{}`, false},
		{"nothing is nothing", ``, ``, true},
		{"empty objects", `{}`, `{ }`, true},
		{"null with white space", `null`, ` null`, true},
		{"white space is not JSON", ` `, ``, false},
		{"white space is not other white space", ` `, "\n", false},
		{"what is not JSON, the same bytes", `{"a"`, `{"a"`, true},
		{"what is not JSON, other bytes", `{"a"`, `{ "a"`, false},
	} {
		assert.Equal(t, tc.same, jsonhash.Same([]byte(tc.a), []byte(tc.b)), tc.reason)
		assert.Equal(t, tc.same, jsonhash.Same([]byte(tc.b), []byte(tc.a)), tc.reason)
	}
}

// Within a list Sum distinguishes all values, so it is the oracle for single documents.
func TestSameIsTheSumWithinAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents().Draw(t, "a"), documents().Draw(t, "b")
		assert.Equal(t, jsonhash.Sum([]byte("["+a+"]")) == jsonhash.Sum([]byte("["+b+"]")), jsonhash.Same([]byte(a), []byte(b)), "%s and %s", a, b)
		assert.True(t, jsonhash.Same([]byte(a), []byte(" "+a+"\n")))
	})
}

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
	docs["huge exponents"] = "[10e" + strings.Repeat("9", 34) + ",0.1e-1" + strings.Repeat("0", 33) + ",10e-1" + strings.Repeat("0", 100) + "]"
	docs["wrong bytes"] = "\"\xff" + strings.Repeat("\\n\xff", 1000) + "\""
	for name, doc := range docs {
		doc := []byte(doc)
		assert.Zero(t, testing.AllocsPerRun(10, func() { jsonhash.Sum(doc) }), name)
	}
}

// A megabyte of digits in the mantissa and in the exponent takes no more time than a text of that length.
func TestSumOfEnormousNumbers(t *testing.T) {
	nines, zeros := strings.Repeat("9", 1<<20), strings.Repeat("0", 1<<20)
	assert.NotEqual(t, jsonhash.Sum([]byte("1e1"+zeros)), jsonhash.Sum([]byte("1e"+nines)))
	assert.Equal(t, jsonhash.Sum([]byte("1e1")), jsonhash.Sum([]byte("10e"+zeros)))
	assert.Equal(t, jsonhash.Sum([]byte("1e1048576")), jsonhash.Sum([]byte("1"+zeros)))
	assert.Equal(t, jsonhash.Sum([]byte("1e-1048577")), jsonhash.Sum([]byte("0."+zeros+"1")))
}

// documents draws values with edge cases: escapes, invalid text, long numbers, large exponents.
func documents() *rapid.Generator[string] {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?([0-9]{1,3}|9{10,15}))?`)
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

// These constants must never change: with one of them, every draw of a tool call that users have recorded changes.
func TestSumGolden(t *testing.T) {
	for _, row := range []struct {
		doc  string
		want uint64
	}{
		{"{}", 0xaeaf52febe706064},
		{"[null,true,false,{},[]]", 0x109d52b143048b7b},
		{`""`, 0xfdbd920ba628a4bf},
		{`"orders"`, 0x6fd4ae4f1be92f29},
		{`"` + strings.Repeat("0123456789", 200) + `"`, 0xfd10d2d95ab13b07},
		{"0", 0xa10c6aa170b7bc02},
		{"1042", 0x3d3ef49dddcd0f74},
		{"-19.90", 0xd8c2154ff76fa50f},
		{"3.14159265358979323846264338327950288419716939937510", 0xa34fbd18d408efc},
		{"1e99999999999999999", 0x16cf7807a58e716e},
		{"-1e-99999999999999999", 0xad87cf7926f79b5e},
		{`{"order_id":1042,"reason":"damaged","notify":true,"sum":19.9}`, 0x21619819c95dc2aa},
		{`{"a":{"b":[{"c":["` + "\u6771\u4eac" + `\ud83d\ude00\n"]}]}}`, 0x8926ee926278a3bd},
		{"not JSON", 0xb21866b65cf8e582},
	} {
		assert.Equal(t, row.want, jsonhash.Sum([]byte(row.doc)), "%.60s", row.doc)
	}
}
