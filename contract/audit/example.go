package audit

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

const mostDepth = 16 // of a value that is made, since a schema may refer to itself

// maker makes a small value that a schema allows, as far as its keywords say so: those of patterns
// and conditions are not read.
type maker struct{ root *jsonschema.Schema }

func exampleOf(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage("{}"), nil
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("audit: the input schema cannot be read: %w", err)
	}
	m := maker{&root}
	if root.Type == "" {
		root.Type = "object"
	}
	return json.Marshal(m.value(&root, mostDepth))
}

func (m maker) value(s *jsonschema.Schema, depth int) any {
	if s == nil || depth == 0 {
		return nil
	}
	switch {
	case s.Const != nil:
		return *s.Const
	case len(s.Default) > 0:
		return s.Default
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Ref != "":
		return m.value(m.refers(s.Ref), depth-1)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		if len(list) > 0 && len(s.Properties) == 0 {
			return m.value(list[0], depth-1)
		}
	}
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	switch {
	case slices.Contains(kinds, "object") || len(kinds) == 0 && s.Properties != nil:
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = m.value(s.Properties[name], depth-1)
		}
		return object
	case slices.Contains(kinds, "array"):
		list := []any{}
		for range number(s.MinItems) {
			list = append(list, m.value(s.Items, depth-1))
		}
		return list
	case slices.Contains(kinds, "integer"), slices.Contains(kinds, "number"):
		return amount(s)
	case slices.Contains(kinds, "boolean"):
		return false
	case slices.Contains(kinds, "null"):
		return nil
	}
	return word(s)
}

// refers follows a JSON pointer within the schema to one of its definitions.
func (m maker) refers(ref string) *jsonschema.Schema {
	if ref == "#" {
		return m.root
	}
	for _, defs := range []map[string]*jsonschema.Schema{m.root.Defs, m.root.Definitions} {
		if keys := jsonedit.PointerKeys(strings.TrimPrefix(ref, "#")); len(keys) == 2 && defs[keys[1]] != nil {
			return defs[keys[1]]
		}
	}
	return nil
}

// amount is 1, or the number next to it that the bounds allow.
func amount(s *jsonschema.Schema) float64 {
	v := 1.0
	for _, least := range []*float64{s.Minimum, s.ExclusiveMinimum} {
		if least != nil && v <= *least {
			v = math.Ceil(*least)
		}
	}
	if s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum {
		v = *s.ExclusiveMinimum + 1
	}
	if s.Maximum != nil && v > *s.Maximum {
		v = *s.Maximum
	}
	if s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum {
		v = *s.ExclusiveMaximum - 1
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		v = math.Ceil(v / *s.MultipleOf) * *s.MultipleOf
	}
	return v
}

func word(s *jsonschema.Schema) string {
	formats := map[string]string{"date": "2000-01-01", "date-time": "2000-01-01T00:00:00Z", "time": "00:00:00Z",
		"email": "someone@example.com", "uri": "https://example.com/", "uuid": firstKey, "ipv4": "192.0.2.1", "hostname": "example.com"}
	v, known := formats[s.Format]
	if known {
		return v
	}
	v = "example"
	if n := number(s.MinLength); len(v) < n {
		v += strings.Repeat("x", min(n, mostValue)-len(v))
	}
	if s.MaxLength != nil && len(v) > *s.MaxLength {
		v = v[:max(*s.MaxLength, 0)]
	}
	return v
}

func number(n *int) int {
	if n == nil {
		return 0
	}
	return min(*n, mostValue)
}

// The idempotency keys that the audit sends; the form of a UUID is one that most tools take.
const (
	firstKey = "00000000-0000-4000-8000-000000000001"
	otherKey = "00000000-0000-4000-8000-000000000002"
)

// keyNames are arguments that are an idempotency key, in lower case and without separators.
var keyNames = [...]string{"idempotencykey", "idempotencytoken", "idempotenceid", "clientrequestid", "clienttoken",
	"requestid", "deduplicationid", "dedupkey", "dedupekey"}

// keyOf finds the JSON pointer to the idempotency key of a tool, and whether a call must have one.
func keyOf(declared string, schema json.RawMessage) (pointer string, required bool) {
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return declared, false
	}
	if pointer = declared; pointer == "" {
		plain := strings.NewReplacer("_", "", "-", "", ".", "")
		for _, known := range keyNames {
			for name := range s.Properties {
				if strings.ToLower(plain.Replace(name)) == known && (pointer == "" || jsonedit.PointerTo("", name) < pointer) {
					pointer = jsonedit.PointerTo("", name)
				}
			}
			if pointer != "" {
				break
			}
		}
	}
	keys := jsonedit.PointerKeys(pointer)
	return pointer, len(keys) == 1 && slices.Contains(s.Required, keys[0])
}

// withKey returns the arguments with a value at a pointer, or without one if key is nil.
func withKey(args json.RawMessage, pointer string, key any) json.RawMessage {
	v, err := jsonvalue.Numbers(args)
	object, ok := v.(map[string]any)
	keys := jsonedit.PointerKeys(pointer)
	if err != nil || !ok || len(keys) == 0 {
		return args
	}
	at := object
	for _, name := range keys[:len(keys)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	if last := keys[len(keys)-1]; key == nil {
		delete(at, last)
	} else {
		at[last] = key
	}
	doc, err := json.Marshal(object)
	if err != nil {
		return args
	}
	return doc
}
