package strictjson

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
