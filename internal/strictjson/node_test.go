package strictjson

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values of a document that was written in another form have the places that it gives them, of values and of names.
func TestForeignPlaces(t *testing.T) {
	p := Problems{Foreign: func(offset int) (line, column int) { return 7, offset }}
	n := Parse([]byte(`{"a":1,"bb":2}`), 100, &p)
	require.NoError(t, p.Err())
	line, column := p.Place(n.Get("bb"))
	assert.Equal(t, []int{7, 12}, []int{line, column})
	line, column = p.placeOfName(n.Get("bb"))
	assert.Equal(t, []int{7, 7}, []int{line, column})
	line, column = p.Place(nil)
	assert.Equal(t, []int{0, 0}, []int{line, column})
	assert.Equal(t, "/bb", n.Get("bb").Pointer())

	p.Foreign = nil
	line, column = p.placeOfName(n.Get("bb"))
	assert.Equal(t, []int{1, 13}, []int{line, column}, "in JSON a name has the place of its value")
}

func TestOpaqueValuesAreNotLookedInto(t *testing.T) {
	p := Problems{Opaque: func(path []string) bool { return len(path) == 2 && path[1] == "body" }}
	n := Parse([]byte(`[{"body": {"a" : "}\"", "a":[ 1 ]} , "b": 1}, {"body":"\u0041"}, {"body": -1.50e+1 }]`), 1<<10, &p)
	require.NoError(t, p.Err(), "a member that occurs twice within an opaque value is none of the reader's business")
	var raw []string
	for _, kid := range n.Values() {
		raw = append(raw, string(kid.Get("body").Bytes()))
	}
	assert.Equal(t, []string{`{"a" : "}\"", "a":[ 1 ]}`, `"\u0041"`, `-1.50e+1`}, raw)
	assert.Equal(t, `[{"body":{"a":"}\"","a":[1]},"b":1},{"body":"A"},{"body":-1.50e+1}]`, string(n.JSON()))
	p = Problems{Opaque: p.Opaque}
	assert.NotNil(t, Parse([]byte(`[{"a":[{"b":1,"b":2}]}]`), 1<<10, &p))
	assert.ErrorContains(t, p.Err(), "/0/a/0/b is there twice")
}
