package blame

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The result without parsing is that of parsing, for documents and for other texts.
func TestApartSaysWhatThePlacesSay(t *testing.T) {
	agreed := 0
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.SampledFrom([]string{"0", "1", "-1", "10", "1.0", "12e3", "true", "false", "null", `"1"`, `"a 1"`, `"\"1"`})
		form := rapid.SampledFrom([]string{
			`{"a":%,"b":[%, {"c":%}],"1":%}`, `[%,%,%,%]`, `{"s":"%","n":% , "m":%,"o":{}%}`, `%`, `[[%],%]`, `the % is % or %`,
		}).Draw(t, "form")
		texts := strings.Split(form, "%")
		leaves := rapid.SliceOfN(scalar, len(texts)-1, len(texts)-1).Draw(t, "leaves")
		write := func() []byte {
			var text strings.Builder
			for i, between := range texts {
				text.WriteString(between)
				if i < len(leaves) {
					text.WriteString(leaves[i])
				}
			}
			return []byte(text.String())
		}
		values := [][]byte{write()}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "at")] = scalar.Draw(t, "to")
			if next := write(); !bytes.Equal(next, values[len(values)-1]) {
				values = append(values, next)
			}
		}
		if len(values) > 1 && disjointScalars(values) {
			agreed++
			assert.NotContains(t, byPlace(values), false, "%s", values)
		}
	})
	assert.Positive(t, agreed)
}

func TestApart(t *testing.T) {
	long := strings.Repeat(`"row",`, 100)
	for _, tt := range []struct {
		why    string
		values []string
		want   bool
	}{
		{"two numbers", []string{`{"a":1,"b":2}`, `{"a":3,"b":2}`, `{"a":3,"b":4}`}, true},
		{"the later one stands before, and is longer", []string{`[` + long + `1,2]`, `[` + long + `1,3]`, `[` + long + `1000,3]`}, true},
		{"the first one moved, and is changed again", []string{`[1,2]`, `[1,3]`, `[1000,3]`, `[1000,2]`}, false},
		{"the same number twice", []string{`[1,2]`, `[1,3]`, `[1,4]`}, false},
		{"another digit of the same number", []string{`[123]`, `[923]`, `[924]`}, false},
		{"another spelling", []string{`[1,2]`, `[1.0,2]`}, false},
		{"within a string", []string{`["1",2]`, `["3",2]`}, false},
		{"behind an escaped quote", []string{`["\"1"]`, `["\"2"]`}, false},
		{"a member that is another", []string{`{"a":1}`, `{"b":1}`}, false},
		{"an element more", []string{`[1]`, `[1,2]`}, false},
		{"a text for a number", []string{`[1]`, `["1"]`}, false},
	} {
		var values [][]byte
		for _, v := range tt.values {
			values = append(values, []byte(v))
		}
		assert.Equal(t, tt.want, disjointScalars(values), tt.why)
	}
}
