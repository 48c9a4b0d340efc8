package report

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/scoring"
)

// maxProblems bounds the errors of one input: a file that is not a report has one
// for each member.
const maxProblems = 20

// checkShape compares valid JSON text with its Go type. Package json accepts input
// that FromJSON must reject, and does not report the path of an error. checkShape
// reads the text once, and allocates only for what it rejects.
func checkShape(text []byte) error { return checkShapeOf(text, reflect.TypeFor[contract.Report]()) }

func checkShapeOf(text []byte, of reflect.Type) error {
	s := &shape{text: text, structs: map[reflect.Type]*structShape{}, names: map[named]bool{},
		problems: fields.ListUpTo(maxProblems)}
	s.value(of, false)
	return s.problems.Err()
}

type shape struct {
	text     []byte
	at       int    // of the next byte
	path     []byte // of the value there
	structs  map[reflect.Type]*structShape
	names    map[named]bool // those that their types accept
	problems *fielderror.List
}

// named is the JSON of a value that is written as a name, such as a verdict.
type named struct {
	is   reflect.Type
	json string
}

func (s *shape) refuse(value any, allowed string) {
	s.problems.Wrong(cmp.Or(string(s.path), "report"), value, allowed)
}

// inside runs check with a step added to the path.
func (s *shape) inside(step string, check func()) {
	n := len(s.path)
	if n > 0 {
		s.path = append(s.path, '.')
	}
	s.path = append(s.path, step...)
	check()
	s.path = s.path[:n]
}

// value checks the next value; quoted means that a number is written as a string.
func (s *shape) value(t reflect.Type, quoted bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s.space()
	switch {
	case t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]():
		s.skip()
	case s.text[s.at] == 'n':
		s.skip()
		s.refuse(fielderror.Found("null"), kindName(t, quoted))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.named(t)
	case t.Kind() == reflect.Struct:
		s.object(t)
	case t.Kind() == reflect.Slice:
		s.list(t)
	default:
		if raw := s.skip(); !fits(raw, t, quoted) {
			s.refuse(json.RawMessage(raw), kindName(t, quoted))
		}
	}
}

func (s *shape) named(t reflect.Type) {
	raw := s.skip()
	if s.names[named{t, string(raw)}] {
		return
	}
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if refused, ok := errors.AsType[*scoring.FieldError](err); ok {
		s.refuse(json.RawMessage(raw), refused.Allowed)
	} else if err != nil {
		s.refuse(json.RawMessage(raw), "a name")
	} else {
		s.names[named{t, string(raw)}] = true
	}
}

func (s *shape) list(t reflect.Type) {
	if s.text[s.at] != '[' {
		s.refuse(json.RawMessage(s.skip()), "a list")
		return
	}
	n := len(s.path)
	for i := 0; s.more(']'); i++ {
		s.path = append(strconv.AppendInt(append(s.path, '['), int64(i), 10), ']')
		s.value(t.Elem(), false)
		s.path = s.path[:n]
	}
}

// object checks the members of a JSON object against the fields of a struct.
func (s *shape) object(t reflect.Type) {
	if s.text[s.at] != '{' {
		s.refuse(json.RawMessage(s.skip()), "an object")
		return
	}
	is := s.of(t)
	var seen, zero uint64 // sets of fields: no struct of a report has more than 64
	for s.more('}') {
		name := s.skip()
		s.space()
		s.at++ // the colon
		i, known := is.index[string(name)]
		if !known {
			i, known = is.index[`"`+unquoted(name)+`"`] // with unnecessary escapes
		}
		switch {
		case !known:
			s.skip()
			s.inside(clip(unquoted(name), 40),
				func() { s.refuse(fielderror.Found("there"), "only members of the schema") })
		case seen>>i&1 != 0:
			s.skip()
			s.inside(is.fields[i].name, func() { s.refuse(fielderror.Found("there twice"), "once") })
		default:
			s.space()
			if seen |= 1 << i; s.text[s.at] == '0' {
				zero |= 1 << i
			}
			s.inside(is.fields[i].name, func() { s.value(is.fields[i].is, is.fields[i].quoted) })
		}
	}
	for i, f := range is.fields {
		if f.required && seen>>i&1 == 0 && !is.excuses(f.name, zero) {
			s.inside(f.name, func() { s.refuse(nil, "") })
		}
	}
}

// more steps into a list or an object, or past a value of it, and reports whether
// another value follows.
func (s *shape) more(end byte) bool {
	s.space()
	if s.text[s.at] != end {
		s.at++ // the bracket that opens it, or a comma
		s.space()
	}
	if s.text[s.at] != end {
		return true
	}
	s.at++
	return false
}

func (s *shape) space() { s.at = jsonedit.Space(s.text, s.at) }

// skip steps past the next value, and returns its text.
func (s *shape) skip() []byte {
	s.space()
	from := s.at
	if s.at = jsonedit.After(s.text, from); s.at < 0 {
		s.at = len(s.text) // a number or a word that is all there is
	}
	return s.text[from:s.at]
}

// fits reports whether a number, a text or a truth value is one of type t.
func fits(raw []byte, t reflect.Type, quoted bool) bool {
	if quoted {
		_, err := strconv.ParseUint(unquoted(raw), 10, 64)
		return err == nil && raw[0] == '"'
	}
	switch t.Kind() {
	case reflect.String:
		return raw[0] == '"'
	case reflect.Bool:
		return raw[0] == 't' || raw[0] == 'f'
	case reflect.Int, reflect.Int64:
		_, err := strconv.ParseInt(string(raw), 10, t.Bits())
		return err == nil
	}
	return json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}

// unquoted returns the text of a JSON string, and any other JSON as it is.
func unquoted(raw []byte) string {
	if raw[0] == '"' {
		return jsonedit.Unquote(raw)
	}
	return string(raw)
}

// A structShape is what the tags of a struct say about the members of an object.
type structShape struct {
	is     reflect.Type
	fields []fieldShape   // in the struct's order, for errors in a fixed order
	index  map[string]int // by the JSON of their names
}

type fieldShape struct {
	name             string
	is               reflect.Type
	required, quoted bool
}

func (s *shape) of(t reflect.Type) *structShape {
	is := s.structs[t]
	if is != nil {
		return is
	}
	is = &structShape{is: t, index: map[string]int{}}
	for f := range t.Fields() {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		optional := tagged && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"))
		is.index[`"`+name+`"`] = len(is.fields)
		is.fields = append(is.fields,
			fieldShape{name: name, is: f.Type, required: !optional, quoted: strings.HasSuffix(options, "string")})
	}
	s.structs[t] = is
	return is
}

// excuses reports whether a member may be missing: a score without a decided cell
// has no value.
func (is *structShape) excuses(name string, zero uint64) bool {
	switch is.is {
	case reflect.TypeFor[scoring.ContractScore](), reflect.TypeFor[scoring.ChaosScore](),
		reflect.TypeFor[scoring.MutationScore](), reflect.TypeFor[scoring.ReplayScore]():
		return name == "value" && zero>>is.index[`"decided"`]&1 != 0
	}
	return false
}

// kindName names the JSON that is allowed for a type.
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
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		return "an object"
	case t.Kind() == reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
