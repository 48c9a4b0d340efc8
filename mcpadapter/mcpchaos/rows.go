package mcpchaos

import "github.com/shakedown-go/shakedown/chaos/catalog"

// Rows returns the rows of this package's faults, for planjson.Options.Rows. The
// caller may keep and change the list.
func Rows() []*catalog.Row {
	return catalog.List(
		errorUnset, toolRemoved, toolHidden, descriptionChanged,
		dropped, duplicated, overtaken, flood, cut,
		corrupted, garbage, wrongID, oversized)
}
