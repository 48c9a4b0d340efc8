package lies

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list
// and the rows: they are copies.
func Rows() []*catalog.Row {
	return catalog.Copies(slices.Concat(omissionRows, formatRows, numberRows, valueRows, swapRows, recordRows,
		staleRows,
		[]*catalog.Row{contradictRow.Row}, schemaRows, nestedRows, attackRows, toolRows, messageRows))
}
