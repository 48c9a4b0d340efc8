package fault

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list
// and the rows: they are copies.
func Rows() []*catalog.Row { return catalog.Copies(rows()) }

func rows() []*catalog.Row {
	return slices.Concat(latencyRows(), failureRows(), timeoutRows(), valueRows(), deliveryRows(), orderRows(),
		streamRows(), itemRows(), budgetRows(), limitRows(), guardrailRows(), handoffRows())
}
