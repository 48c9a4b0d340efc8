package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A label depends on the order of calls as its base does, unless it says otherwise.
func TestOrderOfALabel(t *testing.T) {
	base := &catalog.Row{Kind: "base", Order: catalog.Deliveries}
	assert.Equal(t, catalog.Deliveries, catalog.Row{Kind: "label"}.Of(base).Order)
	assert.Equal(t, catalog.Timed, catalog.Row{Kind: "label", Order: catalog.Timed}.Of(base).Order)
	assert.Equal(t, "independent of order", catalog.Row{Kind: "label"}.Of(&catalog.Row{}).Order.String())
	assert.Equal(t, "depends on deliveries", base.Order.String())
}
