package strictjson

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// A Field is one member of a struct.
type Field struct {
	Name     string // in JSON
	Index    []int  // for reflect.Value.FieldByIndex
	Type     reflect.Type
	Optional bool // json:",omitempty"
	Source   reflect.StructTag
	Tag

	min, over, max *float64 // nil: none
	unknown        string   // a bound that is none
	inner          []Field  // of [Bounds]: those of the structs that the member holds
}

// A Tag is what a field says in addition to its name: `doc:"…"
// bounds:"min=1,enum=a|b" allowed:"…"`. A bound of a duration is one, such as
// min=1ms. Those of a list bound its length, except over, which bounds its
// elements as enum does.
type Tag struct {
	Doc     string
	Min     string   // the least value; of a list, the least number of elements
	Over    string   // the value must be more
	Max     string   // the most
	Enum    []string // the texts that are allowed; an empty one stands for a member that is left out
	Allowed string   // what an error says is allowed; [Fields] makes it of the bounds where the tag has none
}

// Fields lists the members of a struct, with those of embedded structs.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		tag, unknown := tagOf(f.Tag)
		field := Field{Name: name, Index: f.Index, Type: f.Type,
			Optional: strings.Contains(options, "omit"), Source: f.Tag, Tag: tag, unknown: unknown}
		field.min, field.over, field.max = field.number(tag.Min), field.number(tag.Over), field.number(tag.Max)
		if field.bounded() {
			field.Allowed = cmp.Or(tag.Allowed, field.phrase())
		}
		fields = append(fields, field)
	}
	return fields
}

func tagOf(text reflect.StructTag) (t Tag, unknown string) {
	t = Tag{Doc: text.Get("doc"), Allowed: text.Get("allowed")}
	for setting := range strings.SplitSeq(text.Get("bounds"), ",") {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "min":
			t.Min = value
		case "over":
			t.Over = value
		case "max":
			t.Max = value
		case "enum":
			t.Enum = strings.Split(value, "|")
		case "":
		default:
			unknown = setting
		}
	}
	return t, unknown
}

// Names lists what is allowed; the empty text stands for a member that is left
// out.
func (t Tag) Names() string {
	return "one of " + strings.TrimPrefix(strings.Join(t.Enum, ", "), ", ")
}

// Shape describes the type that a member accepts, in words.
func (r *Reader) Shape(f Field) string {
	if f.Enum != nil && f.Type.Kind() == reflect.String {
		return f.Names()
	}
	return r.shapeOf(f.Type)
}

func (r *Reader) shapeOf(t reflect.Type) string {
	if special, ok := r.Special[t]; ok {
		return special.Shape
	}
	if t.Kind() == reflect.Pointer {
		return r.shapeOf(t.Elem())
	}
	return formOf(t).shape
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)
