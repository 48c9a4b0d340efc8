package suite

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Schema returns the JSON Schema (draft 2020-12) of files, with the types of invariants
// of o, which may be nil. It knows names, types and bounds. Whatever it refuses, [Load]
// refuses; conditions between values, patterns, rules and sessions of our form are held by
// Load alone. docs/suites.md has what differs.
func Schema(o *Options) []byte {
	var g generator
	all := kinds()
	if o != nil {
		all = append(all, o.Invariants...)
	}
	root := g.object(reflect.TypeFor[document]())
	defs := map[string]any{"invariant": g.invariant(all), "scenario": g.object(reflect.TypeFor[scenarioKeys]())}
	for list, common := range map[string]reflect.Type{toolFaults: reflect.TypeFor[toolKeys](),
		llmFaults: reflect.TypeFor[llmKeys](), contextAttacks: reflect.TypeFor[attackKeys]()} {
		defs[list] = g.modes(list, common)
	}
	defs["session"] = map[string]any{"type": "object"}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$defs"] = defs
	data, _ := json.MarshalIndent(root, "", "  ") // maps of texts always have JSON
	return append(data, '\n')
}

// A generator makes schemas of the structs that the reader fills.
type generator struct{}

// parts are the schemas of the parts that are read with tables of their own, by key.
func parts() map[string]map[string]any {
	return map[string]map[string]any{
		"invariants":     listOf("invariant"),
		"chaos_matrix":   listOf("scenario"),
		"sessions":       listOf("session"),
		toolFaults:       listOf(toolFaults),
		llmFaults:        listOf(llmFaults),
		contextAttacks:   listOf(contextAttacks),
		"rules":          {"type": "array", "items": map[string]any{"type": "object"}},
		"tool_responses": {"type": "array"},
		"scoring":        {"type": "object"},
		"weights": {"type": "object",
			"additionalProperties": map[string]any{"type": "number", "exclusiveMinimum": 0}},
		"response": {},
	}
}

func listOf(def string) map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/" + def}}
}

// object is the schema of a struct.
func (g generator) object(types ...reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, t := range types {
		for _, f := range strictjson.Fields(t) {
			properties[f.Name] = g.value(f)
			if !f.Optional {
				required = append(required, f.Name)
			}
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if slices.Sort(required); len(required) > 0 {
		s["required"] = required
	}
	return s
}

// value is the schema of a member.
func (g generator) value(f strictjson.Field) map[string]any {
	s := g.typed(f.Type, f)
	if f.Doc != "" {
		s["description"] = f.Doc
	}
	return s
}

func (g generator) typed(t reflect.Type, f strictjson.Field) map[string]any {
	switch {
	case t == reflect.TypeFor[part]():
		s := map[string]any{}
		if f.Name == "chaos" {
			return g.object(reflect.TypeFor[faultKeys]())
		}
		for k, v := range parts()[f.Name] {
			s[k] = v
		}
		return s
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.typed(t.Elem(), f)
	case reflect.Struct:
		return g.object(t)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.typed(t.Elem(), strictjson.Field{})}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.typed(t.Elem(), strictjson.Field{})}
	case reflect.String:
		s := map[string]any{"type": "string"}
		if f.Name == "drift_type" {
			s["enum"] = drifts
		}
		if len(f.Enum) > 0 {
			s["enum"] = f.Enum
		}
		if f.Min != "" {
			s["minLength"] = 1
		}
		return s
	case reflect.Uint64:
		return map[string]any{"type": []string{"integer", "string"}}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	s := map[string]any{"type": "integer"}
	if least, err := strconv.Atoi(f.Min); err == nil {
		s["minimum"] = least
	}
	if most, err := strconv.Atoi(f.Max); err == nil {
		s["maximum"] = most
	}
	return s
}

// invariant is the schema of an invariant: one of its types.
func (g generator) invariant(all []Kind) map[string]any {
	var of []any
	for _, k := range all {
		s := g.object(reflect.TypeFor[invariantKeys](), k.params)
		properties := s["properties"].(map[string]any)
		properties["type"] = map[string]any{"const": k.name, "description": k.text}
		properties["when"] = map[string]any{"enum": whens}
		if !k.answers {
			properties["negate"] = map[string]any{"const": false}
		}
		of = append(of, s)
	}
	return map[string]any{"anyOf": of}
}

// modes is the schema of an element of a list of faults: one of its modes.
func (g generator) modes(list string, common reflect.Type) map[string]any {
	key := "mode"
	if list == contextAttacks {
		key = "type"
	}
	var of []any
	for _, m := range modes() {
		if m.list != list {
			continue
		}
		s := g.object(common, m.params)
		s["properties"].(map[string]any)[key] = map[string]any{"const": m.name, "description": m.text}
		of = append(of, s)
	}
	return map[string]any{"anyOf": of}
}
