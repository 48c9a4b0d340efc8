package strictjson

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Reader fills Go values from a document and collects what does not fit. Its
// Problems say how; the zero value is ready to use.
type Reader struct {
	Problems
	// Special are types that the package reads itself.
	Special map[reflect.Type]Special
	// SkipBounds leaves the bounds of numbers and lists to whoever gets the values.
	SkipBounds bool

	known map[reflect.Type][]Field // of the structs read so far
}

// Fields is [Fields], once for each type.
func (r *Reader) Fields(t reflect.Type) []Field {
	fields, ok := r.known[t]
	if !ok {
		if r.known == nil {
			r.known = make(map[reflect.Type][]Field)
		}
		fields = Fields(t)
		r.known[t] = fields
	}
	return fields
}

// A Special reads the values of one type.
type Special struct {
	Shape string // what it accepts, for errors
	Bind  func(n *Node, v reflect.Value) bool
}

// Wrong adds the problem that a value has another type, and returns false.
func (r *Reader) Wrong(n *Node, allowed string) bool {
	return r.refuse(n, "", &Problem{Reason: WrongType, Value: n.What(), Allowed: allowed})
}

// Refuse adds the problem that a value is not allowed, and returns false.
func (r *Reader) Refuse(n *Node, allowed string, cause error) bool {
	if r.Full() {
		return false
	}
	return r.refuse(n, "", &Problem{Reason: BadValue, Value: Short(string(n.JSON())), Allowed: allowed, Err: cause})
}

// Missing adds the problem that an object lacks a member, and returns false.
func (r *Reader) Missing(n *Node, name, allowed string) bool {
	return r.refuse(n, name, &Problem{Reason: Missing, Allowed: allowed})
}

// refuse adds a problem of a value, or of its member of that name.
func (r *Reader) refuse(n *Node, member string, p *Problem) bool {
	if r.Full() {
		return false
	}
	p.Line, p.Column = r.Place(n)
	if p.Reason == UnknownField {
		p.Line, p.Column = r.placeOfName(n)
	}
	if p.Pointer = r.Within + n.Pointer(); member != "" {
		p.Pointer = jsonedit.Join(p.Pointer, member)
	}
	r.Add(p)
	return false
}

// Short is a value as an error shows it.
func Short(value string) string { return text.Clip(value, 80) }

// A form is what a type of Go accepts in JSON.
type form struct {
	kinds string // of nodes
	shape string // in words
	wrong string // what an error says of another type; empty: shape
}

const (
	anInteger = "an integer"
	bits64    = "a decimal string of at most 64 bits, or an integer below 9007199254740992"
	duration  = `a duration such as "1.5s" or "200ms"`
)

var formsOf = map[reflect.Kind]form{
	reflect.String:  {kinds: `"`, shape: "a string"},
	reflect.Bool:    {kinds: "b", shape: "true or false"},
	reflect.Int:     {kinds: "0", shape: anInteger},
	reflect.Int64:   {kinds: "0", shape: anInteger},
	reflect.Uint64:  {kinds: `"0`, shape: "a decimal string", wrong: bits64},
	reflect.Float64: {kinds: "0", shape: "a number"},
	reflect.Slice:   {kinds: "[", shape: "a list"},
	reflect.Map:     {kinds: "{", shape: "an object"},
	reflect.Struct:  {kinds: "{", shape: "an object"},
}

func formOf(t reflect.Type) form {
	switch t {
	case durationType:
		return form{kinds: `"`, shape: `a duration such as "1.5s"`, wrong: duration}
	case rawType:
		return form{kinds: `{["0bn`, shape: "any JSON"}
	}
	return formsOf[t.Kind()]
}

// Bind fills v from a value and reports whether everything fitted.
func (r *Reader) Bind(n *Node, v reflect.Value, tag Tag) bool {
	if special, ok := r.Special[v.Type()]; ok {
		return special.Bind(n, v)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return r.Bind(n, v.Elem(), tag)
	}
	if form := formOf(v.Type()); strings.IndexByte(form.kinds, byte(n.Kind())) < 0 {
		return r.Wrong(n, cmp.Or(form.wrong, form.shape))
	}
	switch v.Type() {
	case durationType:
		d, err := time.ParseDuration(n.String())
		v.SetInt(int64(d))
		return err == nil || r.Refuse(n, duration, nil)
	case rawType:
		v.SetBytes(n.JSON())
		return true
	}
	fits := true
	switch v.Kind() {
	case reflect.String:
		word := n.String()
		v.SetString(word)
		return tag.Enum == nil || slices.Contains(tag.Enum, word) ||
			r.Refuse(n, tag.Names()+text.Meant(word, tag.Enum), nil)
	case reflect.Bool:
		v.SetBool(string(n.Bytes()) == "true")
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(string(n.Bytes()), 10, v.Type().Bits())
		v.SetInt(i)
		return err == nil || r.Refuse(n,
			fmt.Sprintf("an integer of at most %d bits, written without a point or exponent", v.Type().Bits()), nil)
	case reflect.Uint64:
		digits, isText := n.Text()
		if !isText {
			digits = string(n.Bytes())
		}
		u, err := strconv.ParseUint(digits, 10, 64)
		v.SetUint(u)
		return err == nil && (isText || u < Exact) ||
			r.Refuse(n, bits64, nil)
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(n.Bytes()), 64)
		v.SetFloat(f)
		return err == nil || r.Refuse(n, "a number that a float64 holds", nil)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n.Len(), n.Len()))
		for i, kid := range n.Values() {
			fits = r.Bind(kid, v.Index(i), tag) && fits
		}
	case reflect.Map:
		v.Set(reflect.MakeMapWithSize(v.Type(), n.Len()))
		for i, key := range n.Keys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			fits = r.Bind(n.At(i), elem, tag) && fits
			v.SetMapIndex(reflect.ValueOf(key), elem)
		}
	default:
		return r.Object(n, v)
	}
	return fits
}

// Exact is the first integer that a reader which keeps numbers as floats may
// confuse with its neighbour.
const Exact = 1 << 53

// Object fills a struct with its fields and no others; names are compared
// exactly.
func (r *Reader) Object(n *Node, v reflect.Value) bool {
	if n.Kind() != jsonedit.Object {
		return r.Wrong(n, "an object")
	}
	fits := r.Members(n, v)
	return r.Only(n, v.Type()) && fits
}

// Members fills a struct with its fields, whatever else the object has.
func (r *Reader) Members(n *Node, v reflect.Value) bool {
	fits := true
	fields := r.Fields(v.Type())
	for i := range fields {
		f := &fields[i]
		if kid := n.Get(f.Name); kid != nil {
			fits = r.member(kid, v.FieldByIndex(f.Index), f) && fits
		} else if !f.Optional {
			fits = r.Missing(n, f.Name, r.Shape(*f))
		}
	}
	return fits
}

// member fills one member and holds it to its bounds, also if it says as little as one that is
// left out.
func (r *Reader) member(n *Node, v reflect.Value, f *Field) bool {
	if !r.Bind(n, v, f.Tag) {
		return false
	}
	return r.SkipBounds || !f.bounded() || len(f.outliers(nil, v, "")) == 0 || r.Refuse(n, f.Allowed, nil)
}

// Only refuses the members of an object that none of the structs has.
func (r *Reader) Only(n *Node, structs ...reflect.Type) bool {
	var names []string
	for _, t := range structs {
		for _, f := range r.Fields(t) {
			names = append(names, f.Name)
		}
	}
	fits := true
	for i, key := range n.Keys() {
		if slices.Contains(names, key) {
			continue
		}
		if fits = false; r.Full() {
			continue
		}
		allowed := "no members"
		if len(names) > 0 {
			allowed = "one of " + strings.Join(names, ", ") + text.Meant(key, names)
		}
		r.refuse(n.At(i), "", &Problem{Reason: UnknownField, Allowed: allowed})
	}
	return fits
}

// Find follows a parameter's place, such as "calls[2].target", up to where the
// document ends: there n is nil.
func Find(n *Node, place string) (pointer string, found *Node) {
	pointer = n.Pointer()
	place = strings.NewReplacer("[", ".", "]", "").Replace(place)
	for key := range strings.SplitSeq(place, ".") {
		kid := n.Part(key)
		if kid == nil && n != nil && n.Kind() != jsonedit.Object {
			return pointer, n // the place of something within a value that has no parts
		}
		pointer, n = jsonedit.Join(pointer, key), kid
	}
	return pointer, n
}
