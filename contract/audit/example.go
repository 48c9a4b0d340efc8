package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Of arguments that are made, since a schema may refer to itself.
const (
	mostDepth  = 16
	mostValues = 1000
)

// exampleOf makes small arguments that the usual keywords of a schema allow. A tool may refuse them.
func exampleOf(schema json.RawMessage) (json.RawMessage, error) {
	root := jsonschema.Schema{Type: "object"}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &root); err != nil {
			return nil, err
		}
	}
	m := &exampleMaker{root: &root}
	v := m.valueOf(&root, mostDepth)
	if m.made > mostValues {
		return nil, fmt.Errorf("it needs more than %d values", mostValues)
	}
	return json.Marshal(v)
}

// An exampleMaker makes values of a schema, and counts them.
type exampleMaker struct {
	root *jsonschema.Schema
	made int
}

func (m *exampleMaker) valueOf(s *jsonschema.Schema, depth int) any {
	if m.made++; s == nil || depth == 0 || m.made > mostValues {
		return nil
	}
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	kinds := append(slices.Clone(s.Types), s.Type)
	is := func(kind string) bool { return slices.Contains(kinds, kind) }
	switch number := is("integer") || is("number"); {
	case s.Const != nil:
		return *s.Const
	case len(s.Default) > 0:
		return s.Default
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return m.valueOf(cmp.Or(m.root.Defs[name], m.root.Definitions[name]), depth-1)
	case len(parts) > 0 && s.Properties == nil:
		return m.valueOf(parts[0], depth-1)
	case is("object") || s.Properties != nil:
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = m.valueOf(s.Properties[name], depth-1)
		}
		return object
	case is("array") && s.MinItems != nil && *s.MinItems > 0:
		return []any{m.valueOf(s.Items, depth-1)}
	case is("array"):
		return []any{}
	case number && s.Minimum != nil:
		return *s.Minimum
	case number:
		return 1
	case is("boolean"):
		return false
	}
	return "example"
}

// The idempotency keys that the audit sends in fresh worlds. Most tools take the form of a UUID. They differ from their
// first character to their last, for a tool that keeps a part of its keys.
const (
	firstKey = "00000000-0000-4000-8000-000000000001"
	otherKey = "11111111-1111-4111-9111-111111111112"
)

// keyNames are arguments that are an idempotency key, in lower case and without separators.
var keyNames = [...]string{"idempotencykey", "idempotencytoken", "clientrequestid", "clienttoken", "deduplicationid"}

// keyOf finds the idempotency key among the arguments of a tool, and whether a call must have one. A name such as
// request_id does not tell: it may be the request that is approved.
func keyOf(declared string, schema json.RawMessage) (pointer string, required bool) {
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	_ = json.Unmarshal(schema, &s) //nolint:errcheck // what cannot be read has no key
	plain := strings.NewReplacer("_", "", "-", "")
	for _, known := range keyNames {
		for name := range s.Properties {
			if declared == "" && strings.ToLower(plain.Replace(name)) == known {
				declared = jsonedit.PointerTo("", name)
			}
		}
	}
	keys := jsonedit.PointerKeys(declared)
	return declared, len(keys) == 1 && slices.Contains(s.Required, keys[0])
}

// respelled returns the arguments with the members of their objects in the opposite order, and with other white space.
func respelled(args json.RawMessage) json.RawMessage {
	d, ok := jsonedit.Parse(args)
	if !ok || len(d.Repeated()) > 0 { // of repeated members the order matters
		return args
	}
	return reversed(d.Value()).Pretty()
}

func reversed(v *jsonedit.Value) *jsonedit.Value {
	switch v.Kind() {
	case jsonedit.Array:
		other := jsonedit.Of([]int{})
		for _, element := range v.Values() {
			other.Add(reversed(element))
		}
		return other
	case jsonedit.Object:
		other := jsonedit.Of(struct{}{})
		for _, name := range slices.Backward(v.Keys()) {
			other.Set(name, reversed(v.Get(name)))
		}
		return other
	}
	return v
}

// plain is a document without white space.
func plain(doc json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, doc) //nolint:errcheck // it is JSON
	return b.String()
}
