package strictjson

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpaqueValuesAreLeftAsTheyAreWritten(t *testing.T) {
	p := Problems{Opaque: func(path []string) bool { return len(path) == 2 && path[1] == "body" }}
	n := Parse([]byte(`[{"body": {"a" : "}\"", "a":[ 1 ]} , "b": 1}, {"body":"\u0041"}, {"body": -1.50e+1 }]`), 1<<10, &p)
	require.NoError(t, p.Err(), "a member that occurs twice within an opaque value is none of the reader's business")
	var raw []string
	for _, kid := range n.Kids {
		raw = append(raw, string(kid.Member("body").Raw))
	}
	assert.Equal(t, []string{`{"a" : "}\"", "a":[ 1 ]}`, `"\u0041"`, `-1.50e+1`}, raw)
	assert.Equal(t, "1", n.Kids[0].Member("b").Text, "what follows is read")
	assert.Nil(t, n.Kids[0].Member("b").Raw)
	assert.Equal(t, `[{"body":{"a":"}\"","a":[1]},"b":1},{"body":"\u0041"},{"body":-1.50e+1}]`, string(n.JSON()))
}

// FuzzNodes compares what the reader makes of a document with what encoding/json does.
func FuzzNodes(f *testing.F) {
	for _, doc := range []string{
		`{"a": [1, -0.5e+7, true, false, null], "b\n\u00e9": "\ud83d\ude00\\\"", "": {}}`, `[]`, ` "x" `, `0`,
		"[{\"a\":[{}]},\r\n\t\"\\ud800\"]", `{"a":1,"a":2}`, `[[[[]]]]`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p Problems
		n := Parse(doc, 1<<16, &p)
		if n == nil {
			require.Error(t, p.Err())
			return
		}
		if p.Count() > 0 {
			return // the first of two members counts, unlike in encoding/json
		}
		var want, got any
		for text, into := range map[*any][]byte{&want: doc, &got: n.JSON()} {
			dec := json.NewDecoder(bytes.NewReader(into))
			dec.UseNumber()
			require.NoError(t, dec.Decode(text))
		}
		assert.Equal(t, want, got)
	})
}
