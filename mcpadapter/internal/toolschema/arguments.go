package toolschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	// maxComplaints bounds the problems that one answer reports.
	maxComplaints = 10
	// maxShown bounds the values that a complaint repeats, in bytes.
	maxShown = 60
	// largestExact is the largest whole number that every JSON reader keeps exactly.
	largestExact = 1 << 53
)

// A Refusal says what is wrong with arguments, phrased for a model.
type Refusal struct{ Detail, Hint string }

// Error returns the detail.
func (r *Refusal) Error() string { return r.Detail }

func refused(detail, hint string) *Refusal { return &Refusal{detail, hint} }

// Decode reads the arguments of a call by the schema, strictly: unknown names,
// names in other letter case, duplicates and values that the schema does not
// allow are refused. All problems are in the error, a [*Refusal]. Another validator
// would not say what is allowed.
func Decode[In any](raw json.RawMessage, s *jsonschema.Schema, types Types, maxBytes int) (in In, err error) {
	if len(raw) > maxBytes {
		return in, refused(fmt.Sprintf("the arguments have %d bytes; allowed: at most %d", len(raw), maxBytes),
			"Send less at once.")
	}
	if !utf8.Valid(raw) {
		return in, refused("the arguments are not valid UTF-8", "Send JSON in UTF-8.")
	}
	if bare := bytes.TrimSpace(raw); len(bare) == 0 || string(bare) == "null" {
		raw = json.RawMessage("{}")
	}
	var c checker
	found := strictjson.Problems{As: c.syntax}
	doc := strictjson.Parse(raw, maxBytes, &found)
	if c.broken != nil {
		return in, c.broken
	}
	c.check(doc, s, "")
	if len(c.complaints) > 0 {
		return in, c.problem(s)
	}
	r := strictjson.Reader{SkipBounds: true}
	own := strictjson.Special{Bind: func(n *strictjson.Node, _ string, v reflect.Value) bool {
		err = errors.Join(err, json.Unmarshal(n.JSON(), v.Addr().Interface()))
		return err == nil
	}}
	r.Special = make(map[reflect.Type]strictjson.Special)
	for of := range types {
		if reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			r.Special[of] = own
		}
	}
	// a value that its own type reads more strictly than the schema, such as a time
	if !r.Bind(doc, "", reflect.ValueOf(&in).Elem(), strictjson.Tag{}) {
		return in, refused(errors.Join(err, r.Err()).Error(), membersOf(s))
	}
	return in, nil
}

// A checker holds a document against a schema. It knows the keywords that the
// schemas of this package use.
type checker struct {
	complaints []string
	broken     *Refusal // why the document cannot be read at all
}

// syntax takes a problem of the reader of JSON.
func (c *checker) syntax(p *strictjson.Problem) error {
	switch p.Reason {
	case strictjson.Duplicate:
		c.add(strings.ReplaceAll(strings.TrimPrefix(p.Pointer, "/"), "/", "."), "is given twice; allowed: once")
	case strictjson.TooLarge:
		c.broken = refused(fmt.Sprintf("the arguments are nested deeper than %d levels", strictjson.MaxDepth),
			"Send a flat object.")
	default:
		c.broken = refused("the arguments are no JSON: "+p.Err.Error(), "Send one JSON object.")
	}
	return p
}

func (c *checker) add(path, format string, args ...any) {
	if path == "" {
		path = "the arguments"
	}
	c.complaints = append(c.complaints, path+" "+fmt.Sprintf(format, args...))
}

func (c *checker) problem(s *jsonschema.Schema) *Refusal {
	shown := c.complaints
	if len(shown) > maxComplaints {
		shown = append(shown[:maxComplaints:maxComplaints], fmt.Sprintf("and %d more", len(c.complaints)-maxComplaints))
	}
	return refused(strings.Join(shown, "; "), membersOf(s))
}

func membersOf(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "This tool takes no arguments."
	}
	required := "none is required"
	if len(s.Required) > 0 {
		required = "required: " + strings.Join(s.Required, ", ")
	}
	return "Members are " + strings.Join(s.PropertyOrder, ", ") + "; " + required + "."
}

func join(path, name string) string {
	return strings.TrimPrefix(path+"."+text.Clip(name, 64), ".")
}

// check checks a value against its schema, and puts whole numbers into their
// plain form (5.0 is 5).
func (c *checker) check(n *strictjson.Node, s *jsonschema.Schema, path string) {
	of := typeOf(n)
	for _, one := range slices.Concat(s.AnyOf, []*jsonschema.Schema{s}) {
		if one.Type == of || one.Type == "integer" && of == "number" {
			c.checkOne(n, one, path)
			return
		}
	}
	c.add(path, "is %s; allowed: %s", shown(n), allowed(s))
}

// typeOf is the JSON Schema type of a value.
func typeOf(n *strictjson.Node) string {
	switch n.Kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 'n':
		return "null"
	}
	return "boolean"
}

// checkOne checks a value that has the schema's type.
func (c *checker) checkOne(n *strictjson.Node, s *jsonschema.Schema, path string) {
	switch n.Kind {
	case '{':
		c.checkObject(n, s, path)
	case '[':
		if s.MinItems != nil && len(n.Kids) < *s.MinItems || s.MaxItems != nil && len(n.Kids) > *s.MaxItems {
			c.add(path, "has %d items; allowed: %s", len(n.Kids), allowed(s))
			return
		}
		for i, kid := range n.Kids {
			c.check(kid, s.Items, fmt.Sprintf("%s[%d]", path, i))
		}
	case '0':
		c.checkNumber(n, s, path)
	case '"':
		length := utf8.RuneCountInString(n.Text)
		ok := (s.MinLength == nil || length >= *s.MinLength) && (s.MaxLength == nil || length <= *s.MaxLength)
		if words := wordsOf(s); !ok || len(words) > 0 && !slices.Contains(words, n.Text) {
			c.add(path, "is %s; allowed: %s%s", shown(n), allowed(s), Meant(n.Text, words))
		}
	}
}

// checkObject checks the members of an object. A schema that names none allows
// any.
func (c *checker) checkObject(n *strictjson.Node, s *jsonschema.Schema, path string) {
	if s.Properties == nil && s.AdditionalProperties == nil {
		return
	}
	for _, name := range s.Required {
		if n.Member(name) == nil {
			c.add(join(path, name), "is missing; allowed: %s", allowed(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(slices.Values(n.Keys)) {
		if p := s.Properties[name]; p != nil {
			c.check(n.Member(name), p, join(path, name))
			continue
		}
		known := slices.Sorted(slices.Values(s.PropertyOrder))
		if near := text.Nearest(name, known); near != "" {
			c.add(join(path, name), "is no member; did you mean %s?", near)
		} else {
			c.add(join(path, name), "is no member; allowed: %s", OrNone(known))
		}
	}
}

func (c *checker) checkNumber(n *strictjson.Node, s *jsonschema.Schema, path string) {
	f, err := strconv.ParseFloat(n.Text, 64)
	integer := s.Type == "integer"
	ok := err == nil && (!integer || f == math.Trunc(f) && math.Abs(f) <= largestExact) &&
		(s.Minimum == nil || f >= *s.Minimum) && (s.Maximum == nil || f <= *s.Maximum) &&
		(s.ExclusiveMinimum == nil || f > *s.ExclusiveMinimum)
	switch {
	case !ok:
		c.add(path, "is %s; allowed: %s", shown(n), allowed(s))
	case integer:
		n.Text = strconv.FormatInt(int64(f), 10)
	}
}

// allowed describes in words what a schema allows.
func allowed(s *jsonschema.Schema) string {
	if s == nil {
		return "a value"
	}
	if words := wordsOf(s); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	var ways []string
	for _, one := range s.AnyOf {
		ways = append(ways, allowed(one))
	}
	if len(ways) > 0 {
		return strings.Join(ways, " or ")
	}
	switch s.Type {
	case "string":
		return "text" + between(s.MinLength, s.MaxLength, " characters")
	case "array":
		return "a list" + between(s.MinItems, s.MaxItems, " items") + ", each " + allowed(s.Items)
	case "boolean":
		return "true or false"
	case "object":
		return "an object"
	case "integer":
		return "a whole number" + span(s)
	}
	return "a number" + span(s)
}

// Meant proposes the nearest of the names, as the end of a sentence: " (did you mean
// refund?)". It is empty if none is near.
func Meant(word string, names []string) string {
	near := text.Nearest(word, names)
	if near == "" {
		return ""
	}
	return " (did you mean " + near + "?)"
}

func wordsOf(s *jsonschema.Schema) []string {
	words := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		words[i] = fmt.Sprint(e)
	}
	return words
}

func between(low, high *int, of string) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" of %d to %d%s", *low, *high, of)
	case high != nil:
		return fmt.Sprintf(" of at most %d%s", *high, of)
	}
	return ""
}

func span(s *jsonschema.Schema) (in string) {
	short := func(word string, f *float64) string {
		if f == nil {
			return ""
		}
		return word + strconv.FormatFloat(*f, 'f', -1, 64)
	}
	if in = short(" above ", s.ExclusiveMinimum); in == "" {
		in = short(" from ", s.Minimum)
	}
	return in + short(" up to ", s.Maximum)
}

// shown repeats a value in a complaint.
func shown(n *strictjson.Node) string {
	switch n.Kind {
	case '{', '[':
		return n.What()
	case '"':
		return strconv.Quote(text.Clip(n.Text, maxShown))
	}
	return text.Clip(string(n.JSON()), maxShown)
}

// OrNone lists names.
func OrNone(names []string) string {
	return cmp.Or(strings.Join(names, ", "), "none")
}
