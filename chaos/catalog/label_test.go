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

var (
	quiet = &catalog.Inject[level]{
		Row: catalog.Row{Kind: "quiet", Doc: "It is quiet.", Go: "quiet(n)", Example: `{"n":1}`, AsText: true,
			Layer: chaos.LayerTool, Class: chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone},
		Inject: func(ctx context.Context, _ chaos.Call, _ level, args any, next chaos.Next) (any, error) {
			return next(ctx, args)
		},
	}
	mute = &catalog.Label[level]{
		Row:  catalog.Row{Kind: "mute", Doc: "It is mute.", Go: `As("mute", quiet(n))`, Layer: chaos.LayerControl},
		Base: quiet, Make: func(p level) chaos.Fault { return quiet.Of(p) },
	}
)

// A label says what differs, and takes the rest from its base: parameters and
// their bounds, the example, the coordinates and the fault.
func TestLabel(t *testing.T) {
	rows := catalog.List(quiet, mute)
	base, label := rows[0], rows[1]
	assert.Equal(t, "quiet", label.Base)
	assert.Equal(t, base.Params(), label.Params())
	assert.Equal(t, base.Parameters(), label.Parameters())
	assert.Equal(t, base.Example, label.Example)
	assert.True(t, label.AsText)
	want := chaos.Description{Kind: "mute", Params: []byte(`{"n":3}`), Layer: chaos.LayerControl, Class: chaos.ClassValue,
		Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone}
	assert.Equal(t, want, label.Build(level{3}).(chaos.Described).Describe())
	assert.Equal(t, "quiet", base.Build(level{3}).(chaos.Described).Describe().Kind, "the base is as it was")

	as, ok := mute.As("mute", quiet.Of(level{3}))
	assert.True(t, ok)
	assert.Equal(t, label.Build(level{3}), as, "in Go as from JSON")
	for kind, f := range map[string]chaos.Fault{"quiet": quiet.Of(level{3}), "mute": plain{}} {
		_, ok := mute.As(kind, f)
		assert.False(t, ok, kind)
	}
}
