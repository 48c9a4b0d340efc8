package when

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's triggers, in the order of the
// documentation. The caller may keep and change the list
// and the rows: they are copies.
func Rows() []*catalog.Row {
	return catalog.Copies(slices.Concat(chanceRows, countRows, clockRows, placeRows, combineRows, burstRows, markovRows,
		thirdRows,
		[]*catalog.Row{stagesRow, argsRow}))
}
