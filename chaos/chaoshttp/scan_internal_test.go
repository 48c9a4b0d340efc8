package chaoshttp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzModel compares the model that is found, perhaps in the beginning of a
// document alone, with what decoding all of it gives.
func FuzzModel(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":"{\"model\":\"no\"}"}],"model":"gpt-4o"}`, 1000)
	f.Add(`{"model":"a","model":"b"}`, 9)
	f.Add(`[{"model":"a"}]`, 100)
	f.Add(`{"model":{"model":"a"}}`, 100)
	f.Add(`{"model":"\ud800"}`, 100)
	f.Fuzz(func(t *testing.T, doc string, limit int) {
		limit = min(max(limit, 1), 1<<20)
		r, err := http.NewRequest(http.MethodPost, "https://example.com/v1/messages", strings.NewReader(doc))
		require.NoError(t, err)
		p, err := read(r, int64(limit), false)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.head), limit)
		model := p.model()
		require.LessOrEqual(t, len(model), maxModel)
		if model == "" || !p.all || !json.Valid([]byte(doc)) {
			return
		}
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(doc), &object), "only an object has a model")
		require.Contains(t, object, "model")
	})
}
