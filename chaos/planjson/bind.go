package planjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// binder fills Go values from a tree and collects what does not fit.
type binder struct {
	table *table
	*problems
}

func (b *binder) wrong(n *node, at, allowed string) bool {
	b.add(&Error{Pointer: at, Reason: WrongType, Value: n.what(), Allowed: allowed})
	return false
}

func (b *binder) refuse(n *node, at, allowed string, cause error) bool {
	b.add(&Error{Pointer: at, Reason: BadValue, Value: short(string(n.json())), Allowed: allowed, Err: cause})
	return false
}

// bind fills v, whose type shapeOf knows, and reports whether everything
// fitted.
func (b *binder) bind(n *node, at string, v reflect.Value, tag tag) bool {
	switch v.Type() {
	case reflect.TypeFor[time.Duration]():
		return b.duration(n, at, v)
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes(n.json())
		return true
	case reflect.TypeFor[chaos.When](), reflect.TypeFor[chaos.Fault]():
		return b.part(n, at, v)
	}
	switch v.Kind() {
	case reflect.String:
		return b.text(n, at, v, tag)
	case reflect.Bool:
		if n.kind != 't' && n.kind != 'f' {
			return b.wrong(n, at, "true or false")
		}
		v.SetBool(n.kind == 't')
		return true
	case reflect.Int, reflect.Int64:
		return b.integer(n, at, v)
	case reflect.Uint64:
		return b.bits(n, at, v)
	case reflect.Float64:
		return b.number(n, at, v)
	case reflect.Slice:
		return b.list(n, at, v, tag)
	case reflect.Map:
		return b.dict(n, at, v, tag)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return b.bind(n, at, v.Elem(), tag)
	}
	return b.object(n, at, v)
}

func (b *binder) text(n *node, at string, v reflect.Value, tag tag) bool {
	if n.kind != '"' {
		return b.wrong(n, at, "a string")
	}
	v.SetString(n.text)
	if tag.enum == nil || slices.Contains(tag.enum, n.text) {
		return true
	}
	return b.refuse(n, at, tag.names()+meant(n.text, tag.enum), nil)
}

func (b *binder) duration(n *node, at string, v reflect.Value) bool {
	const allowed = `a duration such as "1.5s" or "200ms"`
	if n.kind != '"' {
		return b.wrong(n, at, allowed)
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		return b.refuse(n, at, allowed, nil)
	}
	v.SetInt(int64(d))
	return true
}

func (b *binder) integer(n *node, at string, v reflect.Value) bool {
	if n.kind != '0' {
		return b.wrong(n, at, "an integer")
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v.OverflowInt(i) {
		return b.refuse(n, at, fmt.Sprintf("an integer of at most %d bits, written without a point or exponent", v.Type().Bits()), nil)
	}
	v.SetInt(i)
	return true
}

// exact is the first integer that a reader which keeps numbers as floats may
// confuse with its neighbour.
const exact = 1 << 53

// bits reads 64 bits: a decimal string, or an integer that every reader keeps.
func (b *binder) bits(n *node, at string, v reflect.Value) bool {
	const allowed = "a decimal string of at most 64 bits, or an integer below 9007199254740992"
	if n.kind != '"' && n.kind != '0' {
		return b.wrong(n, at, allowed)
	}
	u, err := strconv.ParseUint(n.text, 10, 64)
	if err != nil || n.kind == '0' && u >= exact {
		return b.refuse(n, at, allowed, nil)
	}
	v.SetUint(u)
	return true
}

func (b *binder) number(n *node, at string, v reflect.Value) bool {
	if n.kind != '0' {
		return b.wrong(n, at, "a number")
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		return b.refuse(n, at, "a number that a float64 holds", nil)
	}
	v.SetFloat(f)
	return true
}

func (b *binder) list(n *node, at string, v reflect.Value, tag tag) bool {
	if n.kind != '[' {
		return b.wrong(n, at, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.kids), len(n.kids)))
	fits := true
	for i, kid := range n.kids {
		fits = b.bind(kid, at+"/"+strconv.Itoa(i), v.Index(i), tag) && fits
	}
	return fits
}

func (b *binder) dict(n *node, at string, v reflect.Value, tag tag) bool {
	if n.kind != '{' {
		return b.wrong(n, at, "an object")
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.kids)))
	fits := true
	for i, kid := range n.kids {
		elem := reflect.New(v.Type().Elem()).Elem()
		fits = b.bind(kid, join(at, n.keys[i]), elem, tag) && fits
		v.SetMapIndex(reflect.ValueOf(n.keys[i]), elem)
	}
	return fits
}

// object fills a struct with its fields and no others; names are compared
// exactly.
func (b *binder) object(n *node, at string, v reflect.Value) bool {
	if n.kind != '{' {
		return b.wrong(n, at, "an object")
	}
	fields := fieldsOf(v.Type())
	fits := true
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if kid := n.member(f.name); kid != nil {
			fits = b.bind(kid, join(at, f.name), v.FieldByIndex(f.index), f.tag) && fits
		} else if !f.optional {
			b.add(&Error{Pointer: join(at, f.name), Reason: Missing, Allowed: f.shape()})
			fits = false
		}
	}
	return b.strangers(n, at, names) && fits
}

// strangers refuses members with other names.
func (b *binder) strangers(n *node, at string, names []string) bool {
	fits := true
	for _, key := range n.keys {
		if !slices.Contains(names, key) {
			allowed := "no members"
			if len(names) > 0 {
				allowed = "one of " + strings.Join(names, ", ") + meant(key, names)
			}
			b.add(&Error{Pointer: join(at, key), Reason: UnknownField, Allowed: allowed})
			fits = false
		}
	}
	return fits
}

// part builds a fault or trigger from {"kind", "params"}, has it check its
// parameters, and reports whether all are right.
func (b *binder) part(n *node, at string, v reflect.Value) bool {
	var doc Part
	if !b.object(n, at, reflect.ValueOf(&doc).Elem()) {
		return false
	}
	side := b.table.side(v.Type())
	if code := side.held(doc); code != nil {
		v.Set(reflect.ValueOf(code))
		return true
	}
	kind, ok := side.kinds[doc.Kind]
	if !ok {
		names := side.names()
		b.add(&Error{Pointer: join(at, "kind"), Reason: UnknownKind, Value: short(string(quote(doc.Kind))),
			Allowed: "one of " + strings.Join(names, ", ") + meant(doc.Kind, names)})
		return false
	}
	params := n.member("params")
	if params == nil {
		params = &node{kind: '{'}
	}
	return b.build(kind, params, at, v)
}

func (b *binder) build(kind Kind, params *node, at string, v reflect.Value) bool {
	in := reflect.New(kind.params).Elem()
	if !b.bind(params, at+"/params", in, tag{}) {
		return false
	}
	made, err := kind.make(in.Interface(), b.table)
	if err == nil {
		if checked, ok := made.(chaos.Checked); ok {
			err = checked.Check()
		}
	}
	if err != nil {
		b.located(err, params, at+"/params")
		return false
	}
	if !b.unused(made, params, at+"/params") {
		return false
	}
	v.Set(reflect.ValueOf(made))
	return true
}

// located converts what a fault or trigger reports about its parameters into
// errors with the place of each.
func (b *binder) located(err error, params *node, at string) {
	for _, problem := range apart(err) {
		e := &Error{Pointer: at, Reason: BadValue, Err: problem}
		switch p := problem.(type) {
		case *chaos.ParamError:
			where, n := find(params, at, p.Param)
			e.Pointer, e.Allowed, e.Err = where, p.Allowed, &causeOf{nil, p}
			if n != nil {
				e.Value = short(string(n.json()))
			} else if p.Value != nil {
				e.Value = short(fmt.Sprint(p.Value))
			}
		case *Error:
			e.Reason, e.Value, e.Allowed, e.Err = p.Reason, p.Value, p.Allowed, p.Err
		}
		b.add(e)
	}
}

// causeOf keeps, for errors.As, the error that an [Error] already spelled out.
// Its text is only that of the cause, if there is one.
type causeOf struct{ cause, whole error }

func (c *causeOf) Error() string {
	if c.cause == nil {
		return ""
	}
	return c.cause.Error()
}

func (c *causeOf) Unwrap() error { return c.whole }

// find follows a parameter's place, such as "calls[2].target", up to where the
// document ends.
func find(n *node, at, place string) (string, *node) {
	place = strings.NewReplacer("[", ".", "]", "").Replace(place)
	for key := range strings.SplitSeq(place, ".") {
		var kid *node
		if n != nil && n.kind == '[' {
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.kids) {
				kid = n.kids[i]
			}
		} else if n != nil {
			kid = n.member(key)
		}
		if kid == nil && n != nil && n.kind != '{' {
			return at, n // the place of something within a value that has no parts
		}
		at, n = join(at, key), kid
	}
	return at, n
}

// unused refuses parameters without a meaning beside the others, such as a mean
// of a fixed delay: the fault would ignore them.
func (b *binder) unused(made any, params *node, at string) bool {
	d, ok := made.(chaos.Described)
	if !ok || len(params.keys) == 0 {
		return true
	}
	var has map[string]json.RawMessage
	_ = json.Unmarshal(d.Describe().Params, &has) // no parameters: none is used
	fits := true
	for i, key := range params.keys {
		if _, ok := has[key]; !ok && !params.kids[i].empty() {
			b.add(&Error{Pointer: join(at, key), Reason: UnknownField, Value: short(string(params.kids[i].json())),
				Allowed: "to be left out: it has no meaning beside the other parameters"})
			fits = false
		}
	}
	return fits
}

// empty reports whether a value means the same as leaving it out.
func (n *node) empty() bool {
	switch n.kind {
	case '0':
		f, _ := strconv.ParseFloat(n.text, 64)
		return f == 0
	case '"':
		d, err := time.ParseDuration(n.text)
		return n.text == "" || err == nil && d == 0
	case 't':
		return false
	}
	return len(n.kids) == 0
}
