// Package schema reads JSON Schemas that others wrote. The schema library panics at some and recurses without end at
// others, which ends the process.
package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema judges values. It is safe for concurrent use.
type Schema struct{ resolved *jsonschema.Resolved }

// Read reads a schema of draft 2020-12 or draft 7 whose references are JSON pointers and go in no circle. It checks
// the dialect, because the library does so only when it validates, and accepts a final '#' in the name of one dialect
// alone.
func Read(text string) (s *Schema, err error) {
	defer recovered(&err)
	if err := schemaLoop(text); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return nil, err
	}
	switch strings.TrimSuffix(schema.Schema, "#") {
	case "":
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		schema.Schema = "http://json-schema.org/draft-07/schema#"
	case "https://json-schema.org/draft/2020-12/schema":
		schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	default:
		return nil, fmt.Errorf("$schema %q is not supported", schema.Schema)
	}
	resolved, err := schema.Resolve(nil)
	return &Schema{resolved}, err
}

// Validate says why the schema does not allow a value, as encoding/json decodes it into an any.
func (s *Schema) Validate(value any) (err error) {
	defer recovered(&err)
	return s.resolved.Validate(value)
}

// recovered turns a panic of the schema library into an error: a schema is data, and
// data must not end the process.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", v)
	}
}
