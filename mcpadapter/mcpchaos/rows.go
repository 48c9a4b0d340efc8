package mcpchaos

import (
	"cmp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Rows returns the rows of this package's faults, for planjson.Options.Rows. The
// caller may keep and change the list.
func Rows() []*catalog.Row {
	return catalog.List(
		errorUnset, toolRemoved, toolHidden, descriptionChanged,
		dropped, duplicated, flood, cut,
		corrupted, garbage, wrongID, oversized)
}

// protocolRow completes a row with what the faults of the protocol share.
func protocolRow(r catalog.Row) catalog.Row {
	r.Layer, r.Class = chaos.LayerTool, cmp.Or(r.Class, chaos.ClassProtocol)
	return r
}
