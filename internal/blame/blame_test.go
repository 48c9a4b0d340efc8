package blame_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/blame"
)

func TestSeen(t *testing.T) {
	for _, tt := range []struct {
		why    string
		values []string
		want   []bool
	}{
		{"one change is seen", []string{`{"n":5}`, `{"n":-5}`}, []bool{true}},
		{"two that cancel out are not", []string{`{"n":5}`, `{"n":-5}`, `{"n":5}`}, []bool{false, false}},
		{"the spelling of a number is no place", []string{`{"n":5,"m":1}`, `{"n":-5,"m":1}`, `{"n":5.0,"m":2}`}, []bool{false, true}},
		{"of three in one place the last is", []string{`5`, `-5`, `5`, `7`}, []bool{false, false, true}},
		{"two in two places both are", []string{`{"n":5,"m":1}`, `{"n":-5,"m":1}`, `{"n":-5,"m":2}`}, []bool{true, true}},
		{"what cancels out in one place leaves the other", []string{`{"n":5,"m":1}`, `{"n":-5,"m":1}`, `{"n":5,"m":1}`, `{"n":5,"m":2}`}, []bool{false, false, true}},
		{"a whole that is replaced takes its parts along", []string{`{"n":{"a":1}}`, `{"n":{"a":2}}`, `{"n":null}`}, []bool{false, true}},
		{"a part of what was put in leaves the rest", []string{`{"n":1}`, `{"n":{"a":1,"b":2}}`, `{"n":{"a":1,"b":3}}`}, []bool{true, true}},
		{"members have no order", []string{`{"a":1,"b":2}`, `{"b":2,"a":3}`, `{"a":4,"b":2}`}, []bool{false, true}},
		{"a member taken away", []string{`{"a":1,"b":2}`, `{"b":2}`, `{"b":3}`}, []bool{true, true}},
		{"an element added", []string{`[1]`, `[1,2]`, `[3,2]`}, []bool{true, true}},
		{"a text that is added to stays", []string{`{"s":"a"}`, `{"s":"a foo"}`, `{"s":"a foo bar"}`}, []bool{true, true}},
		{"a text before it moves it", []string{`"a"`, `"a foo"`, `"well, a foo"`}, []bool{true, true}},
		{"a text that is cut within is replaced", []string{`"a"`, `"a foo"`, `"a fo"`}, []bool{false, true}},
		{"a text that was taken out, and one added elsewhere", []string{"abcd", "ab", "ab!"}, []bool{true, true}},
		{"a text that was taken out, and another in place of the rest", []string{"abcd", "ab", "xy"}, []bool{false, true}},
		{"no document: characters", []string{"shipped", "lost", "most"}, []bool{false, true}},
		{"one of them no document", []string{`{"n":5}`, `{"n":`, `{}`}, []bool{false, true}},
		{"a change of the spelling alone, for who minds it", []string{`{"n": 5}`, `{"n":5}`, `{"n":6}`}, []bool{true, true}},
	} {
		var values [][]byte
		for _, v := range tt.values {
			values = append(values, []byte(v))
		}
		assert.Equal(t, tt.want, blame.Seen(values), tt.why)
	}
}

// A change of very many places counts as a change of the whole value, in short time.
func TestManyPlaces(t *testing.T) {
	long := func(digit byte) []byte {
		doc := []byte{'['}
		for range 100_000 {
			doc = append(doc, digit, ',')
		}
		return append(doc, digit, ']')
	}
	assert.Equal(t, []bool{false, true}, blame.Seen([][]byte{long('1'), long('2'), long('3')}))
	deep := func(leaf string) (doc []byte) {
		const depth = 5000
		for range depth {
			doc = append(doc, '[')
		}
		doc = append(doc, leaf...)
		for range depth {
			doc = append(doc, ']')
		}
		return doc
	}
	assert.Equal(t, []bool{false, true}, blame.Seen([][]byte{deep("1"), deep("2"), deep("3")}))
}
