package planjson_test

import (
	"encoding/json"
	"os"
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
