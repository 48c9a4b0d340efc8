package catalog_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

type slow struct {
	Share  float64       `json:"share" bounds:"over=0,max=1" allowed:"a share above 0, up to 1"`
	Calls  []int         `json:"calls" bounds:"min=1,max=3,over=0" allowed:"one to three call numbers"`
	Modes  *[]string     `json:"modes,omitempty" bounds:"enum=soft|hard"`
	Wait   time.Duration `json:"wait,omitempty" bounds:"min=1ms"`
	Within chaos.Fault   `json:"within,omitempty"`
}

func slowRow() *catalog.Row {
	return catalog.Fault(catalog.Row{Kind: "slow"}, func(p slow) chaos.Fault { return p })
}

func (slow) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, nil }

// The bounds of a row hold for each parameter, and for each element of a list.
func TestBoundsOfParameters(t *testing.T) {
	row := slowRow()
	for _, c := range []struct {
		why    string
		params slow
		want   string // the problems; empty: none
	}{
		{"all within, and what is optional left out", slow{Share: 1, Calls: []int{1}}, ""},
		{"not a number", slow{Share: math.NaN(), Calls: []int{1}}, "chaos: slow: share is NaN; allowed: a share above 0, up to 1"},
		{"too few elements", slow{Share: 1}, "chaos: slow: calls is []; allowed: one to three call numbers"},
		{"too many, of which one is wrong: the length comes first", slow{Share: 1, Calls: []int{1, 2, 3, 0}},
			"chaos: slow: calls is [1 2 3 0]; allowed: one to three call numbers"},
		{"two of the elements", slow{Share: 1, Calls: []int{0, 1, -1}}, "chaos: slow: calls[0] is 0; allowed: one to three call numbers\n" +
			"chaos: slow: calls[2] is -1; allowed: one to three call numbers"},
		{"an element behind a pointer", slow{Share: 1, Calls: []int{1}, Modes: &[]string{"soft", "mild"}},
			"chaos: slow: modes[1] is mild; allowed: one of soft, hard"},
		{"several parameters, in the order of the fields", slow{Wait: time.Microsecond, Calls: []int{1}},
			"chaos: slow: share is 0; allowed: a share above 0, up to 1\nchaos: slow: wait is 1µs; allowed: a duration of 1ms or more"},
	} {
		t.Run(c.why, func(t *testing.T) {
			err := row.Check(c.params).Err()
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, c.want)
		})
	}
}

func (s slow) Describe() chaos.Description { return slowRow().Describe(s) }

// A fault may be its own parameters. A part without a description is named by
// its type.
func TestDescriptionOfParts(t *testing.T) {
	d := slow{Share: 0.5, Calls: []int{1}, Within: plain{}}.Describe()
	assert.JSONEq(t, `{"share":0.5,"calls":[1],"within":{"kind":"catalog_test.plain"}}`, string(d.Params))
	d = slow{Share: 1, Within: slow{Calls: []int{2}}}.Describe()
	assert.JSONEq(t, `{"share":1,"calls":[],"within":{"kind":"slow","params":{"share":0,"calls":[2]}}}`, string(d.Params))
}

type plain struct{}

func (plain) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, nil }

func TestCheck(t *testing.T) {
	c := catalog.Check{Kind: "lateness"}
	assert.NoError(t, c.Err(), "no problem yet")
	c.That(true, "n", 1, "anything")
	c.Wait("duration", time.Second)
	assert.NoError(t, c.Err(), "what is allowed is no problem")

	c.That(false, "n", nil, "a number")
	c.Wait("duration", -time.Second)
	assert.EqualError(t, c.Err(), "chaos: lateness: n is missing; allowed: a number\n"+
		"chaos: lateness: duration is -1s; allowed: a duration of 0 or more")
	var problem *chaos.ParamError
	assert.ErrorAs(t, c.Err(), &problem)
	assert.Equal(t, "n", problem.Param)
}

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
	mute = &catalog.Label{
		Row:  catalog.Row{Kind: "mute", Doc: "It is mute.", Go: `As("mute", quiet(n))`, Layer: chaos.LayerControl},
		Base: quiet,
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

// What holds code is not made from JSON, and can have a label all the same.
func TestLabelOfCode(t *testing.T) {
	base := &catalog.Fail[catalog.None]{Row: catalog.Row{Kind: "ours", InCode: true},
		Fail: func(chaos.Call, catalog.None) error { return assert.AnError }}
	label := &catalog.Label{Row: catalog.Row{Kind: "theirs"}, Base: base}
	assert.Nil(t, catalog.List(label)[0].Build(catalog.None{}))
	as, ok := label.As("theirs", base.Of(catalog.None{}))
	require.True(t, ok)
	assert.Equal(t, "theirs", as.(chaos.Described).Describe().Kind)
	assert.Equal(t, assert.AnError, as.(chaos.Failer).Fail(chaos.Call{}))
}

// A row that says nothing is independent of order, and a label has the order of its base.
func TestOrder(t *testing.T) {
	assert.Equal(t, "independent of order", catalog.Order("").String())
	assert.Equal(t, "depends on time", catalog.Timed.String())
	base := &catalog.Fail[catalog.None]{Row: catalog.Row{Kind: "storm", Order: catalog.Timed}}
	label := &catalog.Label{Base: base}
	assert.Equal(t, catalog.Timed, catalog.List(label)[0].Order)
	label = &catalog.Label{Row: catalog.Row{Order: catalog.Sequential}, Base: base}
	assert.Equal(t, catalog.Sequential, catalog.List(label)[0].Order)
}
