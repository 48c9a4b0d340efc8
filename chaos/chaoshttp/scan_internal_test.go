package chaoshttp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

// firstOf is the first member of that name as encoding/json finds it.
func firstOf(doc []byte, name string) (value json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return nil, false
		}
		if key == name {
			return value, true
		}
	}
	return nil, false
}

// Of every document that is JSON, and of every beginning of one, the scanner
// finds the member that encoding/json does.
func FuzzFirstMember(f *testing.F) {
	for _, doc := range []string{
		`{"model":"gpt-4o"}`, ` { "a" : [1,{"model":"x"},"]"] , "model" : {"b":"}\\"} } `, `{"mod\u0065l":"a\"b","model":2}`,
		`{"s":"\\\\\"","model":null}`, `{}`, `[]`, `{"model":1e5}`, `{"a":{},"b":[],"model":true}`,
	} {
		f.Add([]byte(doc), len(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte, cut int) {
		got := firstMember(doc, "model") // of anything it comes to an end
		if json.Valid(doc) {
			want, ok := firstOf(doc, "model")
			assert.Equal(t, ok, got != nil)
			assert.Equal(t, string(want), string(got))
		}
		if cut < 0 || cut > len(doc) || !json.Valid(doc) {
			return
		}
		if part := firstMember(doc[:cut], "model"); part != nil {
			assert.Equal(t, string(got), string(part), "the beginning of a document says what the whole does, or nothing")
		}
	})
}
