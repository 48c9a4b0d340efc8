package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// maxProblems bounds the errors of one input: a file that is no report has as
// many as it has members.
const maxProblems = 20

// checkShape compares JSON text with the Go type it is meant for, because
// package json forgives what FromJSON must not and does not say where.
func checkShape(text []byte) error {
	s := new(shape)
	s.value("", text, reflect.TypeFor[contract.Report](), false)
	return errors.Join(s.problems...)
}

type shape struct{ problems []error }

func (s *shape) refuse(path string, value any, allowed string, err error) {
	if path == "" {
		path = "report"
	}
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, &FieldError{Field: path, Value: value, Allowed: allowed, Err: err})
	}
}

// value checks one value; quoted says that a number stands in a string.
func (s *shape) value(path string, raw json.RawMessage, t reflect.Type, quoted bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]():
	case string(raw) == "null":
		s.refuse(path, "null", kindName(t, quoted), nil)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.named(path, raw, t)
	case t.Kind() == reflect.Struct:
		s.object(path, raw, t)
	case t.Kind() == reflect.Slice:
		s.list(path, raw, t)
	default:
		s.scalar(path, raw, t, quoted)
	}
}

// named checks a value that stands under a name, such as a verdict.
func (s *shape) named(path string, raw json.RawMessage, t reflect.Type) {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if refused, ok := errors.AsType[*scoring.FieldError](err); ok {
		s.refuse(path, clip(string(raw), 60), refused.Allowed, nil)
	} else if err != nil {
		s.refuse(path, clip(string(raw), 60), "a name", nil)
	}
}

func (s *shape) list(path string, raw json.RawMessage, t reflect.Type) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		s.refuse(path, clip(string(raw), 60), "a list", nil)
		return
	}
	for i, item := range items {
		s.value(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), false)
	}
}

// scalar checks a number, a text or a truth value.
func (s *shape) scalar(path string, raw json.RawMessage, t reflect.Type, quoted bool) {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if quoted {
		var digits string
		if err = json.Unmarshal(raw, &digits); err == nil {
			_, err = strconv.ParseUint(digits, 10, 64)
		}
	}
	if err != nil {
		s.refuse(path, clip(string(raw), 60), kindName(t, quoted), nil)
	}
}

// object checks the members of a JSON object against the fields of a struct.
func (s *shape) object(path string, raw json.RawMessage, t reflect.Type) {
	members, err := membersOf(raw)
	if err != nil {
		s.refuse(path, clip(string(raw), 60), "an object", nil)
		return
	}
	fields := membersFor(t)
	seen := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		at := strings.TrimPrefix(path+"."+clip(m.name, 40), ".")
		f, known := fields[m.name]
		switch _, twice := seen[m.name]; {
		case !known:
			s.refuse(at, "there", "only members of the schema", nil)
		case twice:
			s.refuse(at, "there twice", "once", nil)
		default:
			s.value(at, m.value, f.is, f.quoted)
		}
		seen[m.name] = m.value
	}
	for _, name := range fieldNames(t) {
		if _, there := seen[name]; !there && fields[name].required && !excused(t, name, seen) {
			s.refuse(strings.TrimPrefix(path+"."+name, "."), nil, "", nil)
		}
	}
}

// excused says that a score without a decided cell has no value.
func excused(t reflect.Type, name string, seen map[string]json.RawMessage) bool {
	return t == reflect.TypeFor[scoring.ContractScore]() && name == "value" && string(seen["decided"]) == "0"
}

type member struct {
	name  string
	value json.RawMessage
}

// membersOf lists the members of an object in their order, doubles included.
func membersOf(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("report: no object"), err)
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// A fieldShape is what a struct's tags say of a member.
type fieldShape struct {
	is               reflect.Type
	required, quoted bool
}

func membersFor(t reflect.Type) map[string]fieldShape {
	fields := make(map[string]fieldShape, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		optional := tagged && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"))
		fields[name] = fieldShape{is: f.Type, required: !optional, quoted: options == "string"}
	}
	return fields
}

// fieldNames are the members of a struct in its order, for errors in a fixed order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// kindName says what may stand for a type.
func kindName(t reflect.Type, quoted bool) string {
	switch {
	case quoted:
		return fmt.Sprintf("a decimal number in a string, 0 to %d", uint64(math.MaxUint64))
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Struct:
		return "an object"
	case t.Kind() == reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
