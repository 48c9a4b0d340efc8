package planjson

import (
	_ "embed" // for the schema
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of plans of the ready-made
// kinds, which is the file schema.json of this package. It knows names, types
// and bounds. Whatever it refuses, the decoder refuses. Conditions between
// members, such as a window that ends before it begins, are found only by the
// decoder.
func Schema() string { return schema }

// SchemaFor is [Schema] with the kinds of o added.
func SchemaFor(o *Options) ([]byte, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	return t.schema()
}

// draft is the dialect of the schemas.
const draft = "https://json-schema.org/draft/2020-12/schema"

// object is a part of a schema; its members keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	n := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			n = append(n, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		n = append(append(append(n, strictjson.Quote(m.key)...), ':'), value...)
	}
	return append(n, '}'), nil
}

func (t *table) schema() ([]byte, error) {
	return t.document(object{
		{"$schema", draft},
		// The place of the schema before the package had its name: plans may say it.
		{"$id", "https://github.com/shakedown-go/shakedown/chaos/spec/schema.json"},
		{"title", "Shakedown plan"},
		{"description", "Which calls of which injection points go wrong, and in which way. " +
			"Durations are texts such as 1.5s; numbers of 64 bits are decimal strings."},
	}, reflect.TypeFor[planDoc]())
}

// document is the schema of documents of a type.
func (t *table) document(s object, is reflect.Type) ([]byte, error) {
	s = append(s, structSchema(is)...)
	s = append(s, member{"$defs", object{
		{"rule", structSchema(reflect.TypeFor[ruleDoc]())},
		{"when", t.whens.schema("A trigger: which calls a rule matches.")},
		{"fault", t.faults.schema("A fault: what happens to a call.")},
		{"duration",
			object{{"type", "string"}, {"pattern", `^[-+]?(0|(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`},
				{"examples", []string{"1.5s"}}}},
		{"uint64", object{{"anyOf", []object{
			{{"type", "string"}, {"pattern", `^\d+$`}},
			{{"type", "integer"}, {"minimum", 0}, {"maximum", uint64(strictjson.Exact - 1)}},
		}}}},
	}})
	return indented(s)
}

// schema has an alternative for every kind, and one for values of Options.
func (s *side) schema(doc string) object {
	var kinds []object
	for _, name := range s.names() {
		kinds = append(kinds, rowSchema(s.rows[name]))
	}
	for _, d := range s.descr {
		kinds = append(kinds,
			object{{"type", "object"}, {"required", []string{"kind"}}, {"additionalProperties", false},
				{"properties",
					object{{"kind", object{{"const", d.Kind}}},
						{"params", object{{"const", json.RawMessage(plainJSON(d.Params))}}}}}})
	}
	return object{{"description", doc}, {"anyOf", kinds}}
}

func rowSchema(r *catalog.Row) object {
	required := []string{"kind"}
	params := structSchema(r.Params())
	for _, f := range strictjson.Fields(r.Params()) {
		if !f.Optional {
			required = []string{"kind", "params"}
		}
	}
	s := object{{"description", r.Doc}, {"type", "object"}, {"additionalProperties", false}, {"required", required},
		{"properties", object{{"kind", object{{"const", r.Kind}}}, {"params", params}}}}
	if r.Example != "" {
		s = append(s, member{"examples", []object{{{"kind", r.Kind}, {"params", json.RawMessage(r.Example)}}}})
	}
	return s
}

func structSchema(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range strictjson.Fields(t) {
		properties = append(properties, member{f.Name, fieldSchema(f)})
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	s := object{{"type", "object"}, {"additionalProperties", false}}
	if len(required) > 0 {
		s = append(s, member{"required", required})
	}
	return append(s, member{"properties", properties})
}

func fieldSchema(f strictjson.Field) object {
	s := object{}
	if f.Doc != "" {
		s = append(s, member{"description", f.Doc})
	}
	is := typeSchema(f.Type, f.Tag)
	if b := strictjson.BoundOf(f); f.Optional && b.RefusesZero() {
		is = object{{"anyOf", []object{is, {{"const", 0}}}}} // as if it were left out
	}
	return append(s, is...)
}

func typeSchema(t reflect.Type, g strictjson.Tag) object {
	ref := func(name string) object { return object{{"$ref", "#/$defs/" + name}} }
	switch t {
	case reflect.TypeFor[time.Duration]():
		return ref("duration")
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[error]():
		return object{{"type", "string"}}
	case reflect.TypeFor[chaos.When]():
		return ref("when")
	case reflect.TypeFor[chaos.Fault]():
		return ref("fault")
	case reflect.TypeFor[ruleDoc]():
		return ref("rule")
	}
	switch t.Kind() {
	case reflect.String:
		if g.Enum != nil {
			return object{{"enum", g.Enum}}
		}
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int, reflect.Int64:
		return append(object{{"type", "integer"}}, numberBounds(g)...)
	case reflect.Uint64:
		return ref("uint64")
	case reflect.Float64:
		return append(object{{"type", "number"}}, numberBounds(g)...)
	case reflect.Slice:
		return listSchema(t, g)
	case reflect.Map:
		return append(object{{"type", "object"}, {"additionalProperties", typeSchema(t.Elem(), strictjson.Tag{})}},
			lengthBounds("Properties", g)...)
	case reflect.Pointer:
		return typeSchema(t.Elem(), g)
	}
	return structSchema(t)
}

// bounds are those of a number.
func numberBounds(g strictjson.Tag) (s object) {
	bounds := []struct{ name, value string }{{"minimum", g.Min}, {"exclusiveMinimum", g.Over}, {"maximum", g.Max}}
	for _, b := range bounds {
		if b.value != "" {
			s = append(s, member{b.name, json.Number(b.value)})
		}
	}
	return s
}

// listSchema bounds the number of elements by min and max, and with over the elements.
func listSchema(t reflect.Type, g strictjson.Tag) object {
	s := object{{"type", "array"}, {"items", typeSchema(t.Elem(), strictjson.Tag{Enum: g.Enum, Over: g.Over})}}
	return append(s, lengthBounds("Items", g)...)
}

// lengthBounds are those of a list, of which things are Items, or of a map.
func lengthBounds(things string, g strictjson.Tag) (s object) {
	for _, b := range []struct{ name, value string }{{"min", g.Min}, {"max", g.Max}} {
		if n, err := strconv.ParseInt(b.value, 10, 64); err == nil {
			s = append(s, member{b.name + things, n})
		}
	}
	return s
}
