// Package catalogue lists the kinds of faults and triggers that plans of clients may
// name.
package catalogue

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// A Kind is one that plans can name.
type Kind struct {
	planjson.Kind
	ClientType string `json:"clientType,omitempty"` // what chaos_inject_fault calls it
}

// Kinds lists the kinds that plans read with o can name.
func Kinds(o *planjson.Options) ([]Kind, error) {
	kinds, err := planjson.Kinds(o)
	list := make([]Kind, len(kinds))
	for i, k := range kinds {
		list[i].Kind = k
		if !k.Trigger && slices.Contains(remote.Types(), k.Description.Kind) {
			list[i].ClientType = k.Description.Kind
		}
	}
	return list, err
}

// Options are the settings with which plans of clients are read: the host's, which may
// be nil, and the faults of the protocol that the host does not have rows for itself.
func Options(host *planjson.Options) *planjson.Options {
	var o planjson.Options
	if host != nil {
		o = *host
	}
	own := o.Rows
	o.Rows = slices.DeleteFunc(mcpchaos.Rows(), func(r *catalog.Row) bool {
		return slices.ContainsFunc(own, func(o *catalog.Row) bool { return o != nil && o.Kind == r.Kind })
	})
	o.Rows = append(o.Rows, own...)
	return &o
}
