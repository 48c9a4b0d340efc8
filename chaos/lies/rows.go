package lies

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list.
func Rows() []*catalog.Row {
	return slices.Concat(omissionRows, formatRows, numberRows, valueRows, swapRows, recordRows, staleRows,
		[]*catalog.Row{contradictRow.Row}, schemaRows, nestedRows, attackRows, toolRows, messageRows)
}
