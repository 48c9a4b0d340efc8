package catalog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

type level struct {
	N int `json:"n" bounds:"min=1" doc:"the level"`
}

type quiet struct {
	kind string
	level
}

func (quiet) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}

// A label says what differs, and takes the rest from its base: parameters and
// their bounds, the example, the coordinates and the fault.
func TestLabel(t *testing.T) {
	base := catalog.Fault(catalog.Row{Kind: "quiet", Doc: "It is quiet.", Go: "quiet(n)", Example: `{"n":1}`, AsText: true,
		Layer: chaos.LayerTool, Class: chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}, func(p level) chaos.Fault { return quiet{"quiet", p} })
	as := func(kind string, f chaos.Fault) chaos.Fault { return quiet{kind, f.(quiet).level} }

	label := catalog.Label(base, catalog.Row{Kind: "mute", Doc: "It is mute.", Go: `As("mute", quiet(n))`, Layer: chaos.LayerControl}, as)
	assert.Equal(t, "quiet", label.Base)
	assert.Equal(t, quiet{"mute", level{3}}, label.Build(level{3}))
	assert.Equal(t, quiet{"quiet", level{3}}, base.Build(level{3}), "the base is as it was")
	assert.Equal(t, base.Params(), label.Params())
	assert.Equal(t, base.Parameters(), label.Parameters())
	assert.Equal(t, base.Example, label.Example)
	assert.True(t, label.AsText)
	assert.Equal(t, chaos.Description{Kind: "mute", Params: []byte(`{"n":3}`), Layer: chaos.LayerControl, Class: chaos.ClassValue,
		Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone}, label.Describe(level{3}))
	assert.EqualError(t, label.Check(level{0}).Err(), "chaos: mute: n is 0; allowed: an integer of 1 or more")

	other := catalog.Label(base, catalog.Row{Kind: "other", Example: `{"n":2}`, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Permanent, Effect: chaos.EffectNone}, as)
	assert.Equal(t, `{"n":2}`, other.Example)
	assert.Equal(t, chaos.Description{Kind: "other", Params: []byte(`{"n":1}`), Layer: chaos.LayerTool, Class: chaos.ClassCrash,
		Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectNone}, other.Describe(level{1}))

	assert.True(t, catalog.Label(catalog.InCode[level](catalog.Row{Kind: "code"}, false), catalog.Row{Kind: "label"}, as).HoldsCode())
	assert.Nil(t, catalog.Label(nil, catalog.Row{Kind: "label"}, as).Params(), "not completed, so it is refused where it is used")
}
