package jsonhash_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	huge := "1" + strings.Repeat("0", 40)
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
		{"an exponent beyond int64", []string{"1e" + huge, "10e" + strings.Repeat("9", 40), "0.1e1" + strings.Repeat("0", 39) + "1"}},
		{"its negative", []string{"1e-" + huge, "0.1e-" + strings.Repeat("9", 40), "10e-1" + strings.Repeat("0", 39) + "1"}},
		{"its neighbour", []string{"1e1" + strings.Repeat("0", 39) + "1"}},
		{"one with a first digit that changes", []string{"1e5" + huge[1:], "10e4" + strings.Repeat("9", 40), "0.1e5" + huge[2:] + "1"}},
		{"one with a digit that changes in the middle", []string{"1e-125" + huge[1:], "0.1e-124" + strings.Repeat("9", 40), "10e-125" + huge[2:] + "1"}},
		{"an exponent that reaches eighteen digits", []string{"1e100000000000000000", "10e99999999999999999", "100e99999999999999998"}},
		{"an exponent that falls below them", []string{"1e99999999999999999", "0.1e100000000000000000", "0.01e100000000000000001"}},
		{"an exponent with a digit more in the upper part", []string{"1e1000000000000000000", "100e999999999999999998"}},
		{"its negative, from both sides", []string{"1e-100000000000000000", "10e-100000000000000001", "0.1e-99999999999999999"}},
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
