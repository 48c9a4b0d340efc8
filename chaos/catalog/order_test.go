package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A row that says nothing is independent of order, and a label has the order of its base.
func TestOrder(t *testing.T) {
	assert.Equal(t, "independent of order", catalog.Order("").String())
	assert.Equal(t, "depends on time", catalog.Timed.String())
	base := &catalog.Fail[catalog.None]{Row: catalog.Row{Kind: "storm", Order: catalog.Timed}}
	label := &catalog.Label[catalog.None]{Base: base, Make: func(p catalog.None) chaos.Fault { return base.Of(p) }}
	assert.Equal(t, catalog.Timed, catalog.List(label)[0].Order)
	label = &catalog.Label[catalog.None]{Row: catalog.Row{Order: catalog.Sequential}, Base: base}
	assert.Equal(t, catalog.Sequential, catalog.List(label)[0].Order)
}
