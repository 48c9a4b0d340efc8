package jsonvalue_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

type touchy struct{}

func (touchy) MarshalJSON() ([]byte, error) { panic("no") }
func (*touchy) UnmarshalJSON([]byte) error  { panic("no") }

func TestMethodsThatPanicAreErrors(t *testing.T) {
	_, err := jsonvalue.Encode(touchy{})
	assert.ErrorContains(t, err, "panicked")
	_, err = jsonvalue.Decode[touchy]([]byte("1"))
	assert.ErrorContains(t, err, "panicked")
	_, err = jsonvalue.DecodeLike([]byte("1"), touchy{})
	assert.ErrorContains(t, err, "panicked")
	assert.Nil(t, jsonvalue.Document(touchy{}))
}

func TestForms(t *testing.T) {
	for _, v := range []any{json.RawMessage("{}"), []byte("{}"), "{}"} {
		doc, ok := jsonvalue.Text(v)
		require.True(t, ok)
		assert.Equal(t, v, jsonvalue.Like(doc, v), "back in its own type")
	}
	_, ok := jsonvalue.Text(7)
	assert.False(t, ok)
	assert.Equal(t, json.RawMessage("7"), jsonvalue.Like([]byte("7"), 3))
	v, err := jsonvalue.DecodeLike([]byte(`{"a":[1]}`), map[string][]int{})
	require.NoError(t, err)
	assert.Equal(t, map[string][]int{"a": {1}}, v)
}

// crate is boxed: only another crate knows how to read one.
type crate struct{ lid, text string }

func (c crate) Unbox() any                    { return c.text }
func (c crate) SameAs(other any) (bool, bool) { return c == other, true }
func (c crate) MarshalJSON() ([]byte, error)  { return json.Marshal(c.text) }
func (c crate) Box(v any) (any, error) {
	var text string
	err := json.Unmarshal(v.(json.RawMessage), &text)
	return crate{c.lid, text}, err
}

func TestABoxedValueIsReadByItsBox(t *testing.T) {
	v, err := jsonvalue.DecodeLike([]byte(`"new"`), crate{"oak", "old"})
	require.NoError(t, err)
	assert.Equal(t, crate{"oak", "new"}, v)
	_, err = jsonvalue.DecodeLike([]byte(`7`), crate{"oak", "old"})
	assert.Error(t, err)
}

func TestDocument(t *testing.T) {
	raw := json.RawMessage(`{"a":1}`)
	shown := jsonvalue.Document(raw)
	raw[1] = 'x'
	assert.JSONEq(t, `{"a":1}`, string(shown), "a copy")
	assert.Equal(t, `"{x"`, string(jsonvalue.Document(json.RawMessage("{x"))), "no JSON: a string")
	assert.Equal(t, `[1]`, string(jsonvalue.Document([]int{1})))
	assert.Equal(t, `"text"`, string(jsonvalue.Document([]byte("text"))))
	assert.Equal(t, `{"a": 1}`, string(jsonvalue.Document([]byte(`{"a": 1}`))))
	mine := []byte(`[1]`)
	shown = jsonvalue.Document(mine)
	mine[1] = '2'
	assert.Equal(t, `[1]`, string(shown), "a copy of bytes too")
}

// The path of a wrong member is the same under every version of Go.
func TestFieldOf(t *testing.T) {
	var doc struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	for text, want := range map[string]string{
		`{"messages":[{"content":"a"},{"content":[]}]}`: "messages.content",
		`{"messages":1}`: "messages",
		`[]`:             "",
	} {
		var wrong *json.UnmarshalTypeError
		require.ErrorAs(t, json.Unmarshal([]byte(text), &doc), &wrong, text)
		assert.Equal(t, want, jsonvalue.FieldOf(wrong), text)
	}
}

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
