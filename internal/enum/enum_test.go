package enum_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/enum"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

type level uint8

const (
	low level = iota + 1
	high
)

var levels = enum.Names[level]{Package: "house", Field: "level", Of: []string{low: "low", high: "high"}}

func (l level) String() string                   { return levels.String(l) }
func (l level) MarshalText() ([]byte, error)     { return levels.MarshalText(l) }
func (l *level) UnmarshalText(text []byte) error { return levels.UnmarshalText(text, l) }

func TestEveryValueReadsAsWritten(t *testing.T) {
	for _, v := range []level{low, high} {
		doc, err := json.Marshal(map[string]level{"is": v})
		require.NoError(t, err)
		assert.JSONEq(t, `{"is":"`+v.String()+`"}`, string(doc))
		var read map[string]level
		require.NoError(t, json.Unmarshal(doc, &read))
		assert.Equal(t, v, read["is"])
	}
	assert.Equal(t, "low, high", levels.Allowed())
}

func TestNoValue(t *testing.T) {
	for _, v := range []level{0, 3, 255} {
		assert.False(t, levels.Has(v))
		_, err := v.MarshalText()
		assert.ErrorAs(t, err, new(*fielderror.Error), v)
	}
	_, err := level(3).MarshalText()
	assert.EqualError(t, err, "house: level is level(3); allowed: low, high")
	for _, text := range []string{"", "Low", "low ", "level(3)"} {
		v := high
		assert.ErrorAs(t, v.UnmarshalText([]byte(text)), new(*fielderror.Error), text)
		assert.Equal(t, high, v, "left as it was")
		_, ok := levels.Find(text)
		assert.False(t, ok)
	}
	_, err = levels.Parse("Low")
	assert.EqualError(t, err, `house: level is "Low"; allowed: low, high`)
}

func TestStringAllocatesNothing(t *testing.T) {
	v := high
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = v.String() }))
}
