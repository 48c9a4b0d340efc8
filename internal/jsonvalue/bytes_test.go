package jsonvalue_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

func TestOfBytes(t *testing.T) {
	for _, c := range []struct {
		why   string
		bytes []byte
		want  string
	}{
		{"JSON as it is written", []byte(`{"b": 1.50, "a":2}`), `{"b": 1.50, "a":2}`},
		{"text", []byte("hello"), `"hello"`},
		{"JSON that was cut off", []byte(`{"a":`), `"{\"a\":"`},
		{"nothing, but there", []byte{}, `""`},
		{"nothing", nil, `null`},
		{"binary", []byte{0xff}, `"/w=="`},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, string(jsonvalue.OfBytes(c.bytes))) })
	}
	mine := []byte(`[1]`)
	copied := jsonvalue.OfBytes(mine)
	mine[1] = '2'
	assert.Equal(t, `[1]`, string(copied))
}

// Whatever the bytes, they come out as JSON from which they can be had again.
func TestBytesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) []byte { doc, _ := json.Marshal(s); return doc })).Draw(t, "bytes")
		doc := jsonvalue.OfBytes(b)
		assert.True(t, json.Valid(doc))
		var text string
		var raw []byte
		switch {
		case json.Valid(b):
			assert.Equal(t, string(b), string(doc))
		case utf8.Valid(b):
			assert.NoError(t, json.Unmarshal(doc, &text))
			assert.Equal(t, string(b), text)
		default:
			assert.NoError(t, json.Unmarshal(doc, &raw))
			assert.Equal(t, b, raw)
		}
	})
}
