package planjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// partOf is a row's example as a part of a plan.
func partOf(r planjson.Row) string { return fmt.Sprintf(`{"kind":%q,"params":%s}`, r.Name, r.Example) }

// documentOf is a plan of the row's example.
func documentOf(r planjson.Row) []byte {
	if r.Trigger {
		return oneRule(partOf(r), `{"kind":"hang"}`)
	}
	return oneRule(`{"kind":"always"}`, partOf(r))
}

// Whatever the plan: rules of any kinds, triggers within each other, and all
// that a rule has besides.
func TestDecodeAndEncodeAreInverse(t *testing.T) {
	var triggers, faults []planjson.Row
	for _, r := range planjson.KindRows() {
		switch {
		case r.Held:
		case r.Trigger:
			triggers = append(triggers, r)
		default:
			faults = append(faults, r)
		}
	}
	anyWhen := func(t *rapid.T) string { return partOf(rapid.SampledFrom(triggers).Draw(t, "trigger")) }
	rapid.Check(t, func(t *rapid.T) {
		var rules []string
		for i := range rapid.IntRange(0, 8).Draw(t, "rules") {
			when := anyWhen(t)
			for range rapid.IntRange(0, 3).Draw(t, "depth") {
				when = fmt.Sprintf(`{"kind":%q,"params":{"parts":[%s,%s]}}`, rapid.SampledFrom([]string{"all", "any"}).Draw(t, "combined"), when, anyWhen(t))
			}
			name, _ := json.Marshal(fmt.Sprint(i, rapid.String().Draw(t, "name")))
			rules = append(rules, fmt.Sprintf(`{"name":%s,"target":"a*","when":%s,"fault":%s,"limit":%d,"coolDown":%q,"layer":%q}`, name, when,
				partOf(rapid.SampledFrom(faults).Draw(t, "fault")), rapid.IntRange(0, 9).Draw(t, "limit"),
				time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "coolDown")), rapid.SampledFrom([]chaos.Layer{"", chaos.LayerTool, chaos.LayerMultiAgent}).Draw(t, "layer")))
		}
		plan, err := planjson.Decode(fmt.Appendf(nil, `{"seed":"%d","rules":[%s]}`, rapid.Uint64().Draw(t, "seed"), strings.Join(rules, ",")), nil)
		require.NoError(t, err)
		roundTrip(t, plan)
	})
}

// roundTrip holds a plan to the laws.
func roundTrip(t require.TestingT, plan *chaos.Plan) {
	first, err := planjson.Encode(plan, nil)
	require.NoError(t, err)
	back, err := planjson.Decode(first, nil)
	require.NoError(t, err, string(first))
	second, err := planjson.Encode(back, nil)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, plan.Seed(), back.Seed())
	a, b := plan.Rules(), back.Rules()
	require.Len(t, b, len(a))
	for i := range a {
		require.Equal(t, describe(a[i].When), describe(b[i].When))
		require.Equal(t, describe(a[i].Fault), describe(b[i].Fault))
		a[i].When, a[i].Fault, b[i].When, b[i].Fault = nil, nil, nil, nil
	}
	require.Equal(t, a, b)
}

func describe(v any) chaos.Description {
	if d, ok := v.(chaos.Described); ok {
		return d.Describe()
	}
	return chaos.Description{}
}

// FuzzDecode: the decoder never panics, and what it takes can be written and
// read again as the same.
func FuzzDecode(f *testing.F) {
	for _, r := range planjson.KindRows() {
		f.Add(documentOf(r))
	}
	f.Add([]byte(`{"seed":7,"rules":[],"$schema":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := planjson.Decode(data, &planjson.Options{MaxBytes: 1 << 16})
		if err != nil {
			return
		}
		first, err := planjson.Encode(plan, nil)
		require.NoError(t, err)
		back, err := planjson.Decode(first, nil)
		require.NoError(t, err)
		second, err := planjson.Encode(back, nil)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
