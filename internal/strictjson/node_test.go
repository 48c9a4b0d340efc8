package strictjson

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nodes of another parser have the places that it gives them, of values and of names.
func TestForeignNodes(t *testing.T) {
	var p Problems
	n := (&Node{Kind: '{'}).At(1, 1)
	assert.True(t, n.AddAt("a", 1, 1, (&Node{Kind: '0', Text: "1"}).At(1, 4)))
	assert.True(t, n.AddAt("bb", 2, 1, (&Node{Kind: '0', Text: "2"}).At(3, 3)))
	assert.False(t, n.AddAt("a", 9, 1, &Node{Kind: 'n'}), "a name that is there")
	for _, row := range []struct {
		node *Node
		want []int
	}{{n.Member("bb"), []int{3, 3}}, {n.Key(1), []int{2, 1}}, {n.Inside(7, 8), []int{7, 8}}, {nil, []int{0, 0}}} {
		line, column := p.Place(row.node)
		assert.Equal(t, row.want, []int{line, column})
	}
	assert.Equal(t, "/bb", n.Member("bb").Pointer())
	assert.Equal(t, "/bb", n.Member("bb").Inside(1, 1).Pointer())

	parsed := Parse([]byte(`{"a": 1}`), 100, new(Problems))
	assert.Same(t, parsed.Kids[0], parsed.Key(0), "our own parser does not keep places of names")
}

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
