package search

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPoolKeepsEqualValuesOnce(t *testing.T) {
	var p pool[string]
	first := p.shared("a")
	assert.Same(t, first, p.shared("a"))
	assert.Equal(t, "b", *p.shared("b"))
	for i := range 2 * maxPool {
		require.Equal(t, fmt.Sprint(i), *p.shared(fmt.Sprint(i)), "also beyond the bound")
	}
	assert.Len(t, p.known, maxPool)
	assert.Same(t, first, p.shared("a"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { assert.Equal(t, fmt.Sprint(i), *p.shared(fmt.Sprint(i))) })
	}
	all.Wait()
}
