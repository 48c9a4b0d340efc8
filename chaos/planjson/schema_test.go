package planjson_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// The committed schema is the one that the table makes.
func TestTheSchemaIsThatOfTheTable(t *testing.T) {
	want, err := planjson.SchemaFor(nil)
	require.NoError(t, err)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile("schema.json", want, 0o644))
		return
	}
	assert.Equal(t, string(want), planjson.Schema(), "to accept: UPDATE_GOLDEN=1 go test -run TheSchemaIsThatOfTheTable .")
}

// resolved is the schema ready to validate.
func resolved(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s))
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err)
	return r
}

// validate holds a document to the schema.
func validate(r *jsonschema.Resolved, doc []byte) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// The documents that the examples show are what the schema says of them.
func TestExamplesFitTheSchema(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	s := resolved(t, []byte(planjson.Schema()))
	function := func(name string) string {
		_, body, found := strings.Cut(string(source), "func "+name+"() {\n")
		require.True(t, found, name)
		body, _, _ = strings.Cut(body, "\n}\n")
		return body
	}
	read := regexp.MustCompile("(?s)\\[\\]byte\\(`(.*?)`\\)")
	assert.NoError(t, validate(s, []byte(read.FindStringSubmatch(function("ExampleDecode"))[1])))
	assert.Error(t, validate(s, []byte(read.FindStringSubmatch(function("ExampleDecode_mistakes"))[1])))
	_, written, found := strings.Cut(function("ExampleEncode"), "// Output:\n")
	require.True(t, found)
	written, _, _ = strings.Cut(strings.ReplaceAll(written, "\t// ", ""), "<nil>")
	assert.NoError(t, validate(s, []byte(written)), written)
}
