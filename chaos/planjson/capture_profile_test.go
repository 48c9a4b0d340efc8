package planjson_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// A run under any ready-made profile, of tools, streams or a model over HTTP, is
// repeated from its capture's JSON: every caller gets the same.
func TestARunUnderAnyProfileReplays(t *testing.T) {
	run := func(t *testing.T, name string, in *chaos.Injector) (got []answer) {
		synctest.Test(t, func(t *testing.T) {
			in.Arm()
			w, ctx := newWorld(t), chaos.NewContext(t.Context(), in)
			switch {
			case strings.Contains(name, "stream"):
				got = w.stream(ctx, 8)
			case strings.Contains(name, "llm"):
				got = w.model(ctx, 12, false)
			default:
				got = w.tools(ctx, 4)
			}
		})
		return got
	}
	for _, name := range planjson.ProfileNames() {
		t.Run(name, func(t *testing.T) {
			rules, err := planjson.Profile(name, &planjson.ProfileOptions{Tools: []string{"orders.*"}, Streams: []string{"tokens"}, Models: []string{theModel}})
			require.NoError(t, err)
			plan, err := chaos.NewPlan(7, rules...)
			require.NoError(t, err)
			in := plan.Injector("weather", &chaos.InjectorOptions{RecordAll: true})
			got := run(t, name, in)
			capture, err := planjson.CaptureOf(plan, in.Events())
			require.NoError(t, err)
			doc, err := capture.Encode(nil)
			require.NoError(t, err)
			back, err := planjson.DecodeCapture(doc, nil)
			require.NoError(t, err)
			again := back.Injector(nil)
			assert.Equal(t, texts(got), texts(run(t, name, again)))
			assert.NoError(t, back.Check(again.Events()))
			assert.Equal(t, sorted(in.Events()), sorted(again.Events()))
		})
	}
}

func texts(answers []answer) (list []string) {
	for _, a := range answers {
		list = append(list, a.String())
	}
	return list
}

// FuzzDecodeCapture: the decoder never panics, and what it takes can be
// written and read again as the same.
func FuzzDecodeCapture(f *testing.F) {
	f.Add([]byte(`{"cell":"a","plan":{"seed":"1","rules":[{"target":"t","when":{"kind":"exactly","params":{"calls":[{"target":"t","key":"7","occurrence":"0"}]}},"fault":{"kind":"hang"}}]},` +
		`"calls":[{"target":"t","key":"7","occurrence":"0","delivered":["t:hang"]},{"lane":"b","target":"t","key":"7","occurrence":"0"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := planjson.DecodeCapture(data, &planjson.Options{MaxBytes: 1 << 16})
		if err != nil {
			return
		}
		first, err := r.Encode(nil)
		require.NoError(t, err)
		back, err := planjson.DecodeCapture(first, nil)
		require.NoError(t, err, string(first))
		second, err := back.Encode(nil)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
