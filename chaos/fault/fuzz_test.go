package fault_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A change that changes nothing is not delivered, and hands on the very bytes
// of the result, whatever they are; one that does is declared as it was seen.
func FuzzChangesOfDocuments(f *testing.F) {
	for _, doc := range []string{`{"a":1,"b":[null,1e400]}`, ``, `null`, `"\ud800"`, `{"a":`, `12345678901234567890`, "\xff", ` {} `, `-0`} {
		f.Add([]byte(doc), []byte(`{"b":2}`))
	}
	same := func(v any) any { return v }
	f.Fuzz(func(t *testing.T, doc, other []byte) {
		tool := chaos.Wrap(target, func(context.Context, int) (json.RawMessage, error) { return doc, nil })
		dispatch := chaos.Wrap(target, func(context.Context, int) (string, error) { return string(doc), nil })
		for _, rule := range []chaos.Rule{
			{Fault: fault.Mutate("nothing", same)}, {Fault: fault.Mutate("nothing", func(m map[string]any) map[string]any { return m })},
		} {
			ctx, in := withRules(t, rule)
			got, err := tool(ctx, 0)
			require.NoError(t, err)
			assert.Equal(t, string(doc), string(got))
			text, err := dispatch(ctx, 0)
			require.NoError(t, err)
			assert.Equal(t, string(doc), text)
			for _, e := range in.Events() {
				assert.False(t, e.Delivered)
				assert.Empty(t, e.Changes)
			}
		}
		ctx, in := withRules(t, chaos.Rule{Fault: fault.Replace(json.RawMessage(other))})
		got, err := tool(ctx, 0)
		require.NoError(t, err)
		e := onlyEvent(t, in)
		if e.Delivered {
			assert.Equal(t, string(other), string(got))
			assert.Len(t, e.Changes, 1)
		} else {
			assert.Equal(t, string(doc), string(got))
		}
		_, err = json.Marshal(e)
		assert.NoError(t, err)
	})
}
