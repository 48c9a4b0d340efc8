package strictjson

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Nodes of another parser have the places that it gives them, of values and of names.
func TestForeignNodes(t *testing.T) {
	const text = "a: 1\nbb:\n  2"
	var p Problems
	p.Foreign([]byte(text))
	n := (&Node{Kind: '{'}).At(0)
	assert.True(t, n.Add("a", 0, (&Node{Kind: '0', Text: "1"}).At(3)))
	assert.True(t, n.Add("bb", 5, (&Node{Kind: '0', Text: "2"}).At(11)))
	assert.False(t, n.Add("a", 9, &Node{Kind: 'n'}), "a name that is there")
	assert.Equal(t, "1", n.Member("a").Text)
	line, column := p.Place(n.Member("bb"))
	assert.Equal(t, []int{3, 3}, []int{line, column})
	some := n.Some(func(key string) bool { return key == "bb" })
	assert.Equal(t, []string{"bb"}, some.Keys)
	line, column = p.Place(some.Key(0))
	assert.Equal(t, []int{2, 1}, []int{line, column})

	parsed := Parse([]byte(`{"a": 1}`), 100, new(Problems))
	assert.Same(t, parsed.Kids[0], parsed.Key(0), "our own parser does not keep places of names")
}
