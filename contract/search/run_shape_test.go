package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShapes(t *testing.T) {
	s := newShaper(map[string]bool{"orders.get": true, "orders": true})
	for _, same := range [][]string{
		{`took 1.5s at orders.get`, `took 20ms at orders`},
		{`expected "a", got "b"…`, `expected "longer \"quoted\" text", got "c"`},
		{`"a", "b" and "c" are missing`, `"a" and "b" are missing`},
		{`5 times, 3 %`, `17 times, 44.5 %`},
	} {
		for _, why := range same[1:] {
			assert.Equal(t, s.shapeOf(same[0]), s.shapeOf(why), why)
		}
	}
	assert.NotEqual(t, s.shapeOf("it is missing"), s.shapeOf("it is there twice"))
}
