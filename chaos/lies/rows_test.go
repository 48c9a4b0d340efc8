package lies_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

func TestRows(t *testing.T) { catalogtest.Run(t, lies.Rows()) }

// Descriptions have their parameters in the order of their names, so their
// text is the same as ever.
func TestParametersAreInOrder(t *testing.T) {
	for _, r := range lies.Rows() {
		var names []string
		for _, p := range r.Parameters() {
			names = append(names, p.Name)
		}
		assert.True(t, slices.IsSorted(names), "%s: %v", r.Kind, names)
	}
}
