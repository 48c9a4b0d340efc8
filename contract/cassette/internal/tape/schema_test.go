package tape

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// What is written satisfies the schema; what it refuses, Read refuses too.
func TestSchemaFitsTheFiles(t *testing.T) {
	s := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal(Schema(), s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	valid := func(file []byte) error {
		var doc any
		require.NoError(t, json.Unmarshal(file, &doc))
		return resolved.Validate(doc)
	}
	require.NoError(t, valid([]byte(example)))
	rapid.Check(t, func(t *rapid.T) {
		data, err := (&File{rapid.SliceOfN(exchanges(), 0, 5).Draw(t, "exchanges")}).Bytes()
		require.NoError(t, err)
		require.NoError(t, valid(data), "%s", data)
	})
	refused := 0
	for _, row := range badFiles {
		if file, _ := unmarked(row.file, ""); json.Valid([]byte(file)) && valid([]byte(file)) != nil {
			refused++
		}
	}
	assert.Greater(t, refused, len(badFiles)/2, "the schema refuses most of the bad files")
}

// The schema has the members that the reader takes, and no others.
func TestSchemaHasTheMembersOfTheReader(t *testing.T) {
	s := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal(Schema(), s))
	for name, of := range map[string]struct {
		schemas []*jsonschema.Schema
		doc     reflect.Type
	}{
		"file":     {[]*jsonschema.Schema{s}, reflect.TypeFor[fileDoc]()},
		"exchange": {[]*jsonschema.Schema{s.Defs["exchange"]}, reflect.TypeFor[exchangeDoc]()},
		"request":  {s.Defs["request"].OneOf, reflect.TypeFor[requestDoc]()},
		"response": {s.Defs["response"].OneOf, reflect.TypeFor[responseDoc]()},
		"event":    {[]*jsonschema.Schema{s.Defs["event"]}, reflect.TypeFor[eventDoc]()},
		"line":     {[]*jsonschema.Schema{s.Defs["line"]}, reflect.TypeFor[lineDoc]()},
		"chunk":    {[]*jsonschema.Schema{s.Defs["chunk"]}, reflect.TypeFor[chunkDoc]()},
	} {
		var got, want []string
		for _, part := range of.schemas {
			for member := range part.Properties {
				got = append(got, member)
			}
		}
		for _, f := range strictjson.Fields(of.doc) {
			want = append(want, f.Name)
		}
		slices.Sort(got)
		slices.Sort(want)
		assert.Equal(t, strings.Join(want, " "), strings.Join(got, " "), name)
	}
}
