package suite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

// maxBytes is the largest file.
const maxBytes = 16 << 20

// A node is a value of a file, with its place in the text. nil: it was left out.
type node = *strictjson.Node

// A part is a value that is read later.
type part struct{ node }

// A reader reads one file and collects what is wrong in it.
type reader struct {
	strictjson.Reader
	file string
	// spelled are the places of values that YAML writes in a way that is a problem. What else is
	// wrong with such a value follows from it.
	spelled map[place]bool
	// known has what was found out about structs: it takes longer than reading one.
	known map[reflect.Type]*members
}

// A place is where a value is in a file.
type place struct {
	pointer      string
	line, column int
}

// members are those of a struct.
type members struct {
	fields []strictjson.Field
	names  []string
}

func (r *reader) membersOf(t reflect.Type) *members {
	m := r.known[t]
	if m == nil {
		m = &members{fields: strictjson.Fields(t)}
		for _, f := range m.fields {
			m.names = append(m.names, f.Name)
		}
		r.known[t] = m
	}
	return m
}

func newReader(file string) *reader {
	r := &reader{file: file, spelled: map[place]bool{}, known: map[reflect.Type]*members{}}
	r.Most = 10 * maxProblems // of which the first by place are shown
	r.As = func(p *strictjson.Problem) error {
		e := &Error{Problem: string(p.Reason), Value: p.Value, Allowed: p.Allowed, Err: p.Err}
		if at := strings.LastIndexByte(p.Pointer, '/'); at > 0 && p.Reason == strictjson.UnknownField {
			if what := instead[p.Pointer[1:at]][p.Pointer[at+1:]]; what != "" {
				e = &Error{Problem: noMeaning, Allowed: what}
			}
		}
		if !r.placed(e, p.Pointer, p.Line, p.Column) {
			return nil
		}
		return e
	}
	// Parts that must be there are lists.
	r.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[part](): {Shape: "a list", Bind: func(n node, _ string, v reflect.Value) bool {
			v.Set(reflect.ValueOf(part{n}))
			return true
		}},
	}
	return r
}

// noMeaning is the problem of a field of the layout that would have no effect here.
const noMeaning = "a field without a meaning here"

// parse reads the form of a file, JSON or YAML; nil: it has none.
func (r *reader) parse(data []byte) node {
	switch {
	case len(data) > maxBytes:
		r.AddError(&Error{File: r.file, Problem: "too large: " + fmt.Sprintf("%d bytes", len(data)),
			Allowed: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	case json.Valid(data) || filepath.Ext(r.file) == ".json":
		return strictjson.Parse(data, maxBytes, &r.Problems)
	}
	return r.parseYAML(data)
}

// ok reports whether nothing was wrong so far.
func (r *reader) ok() bool { return r.Count() == 0 }

// placed gives a problem its place, and reports whether it does not follow from another one.
func (r *reader) placed(e *Error, pointer string, line, column int) bool {
	e.File, e.Pointer, e.Line, e.Column = r.file, strings.TrimPrefix(pointer, "/"), line, column
	return !r.spelled[place{e.Pointer, line, column}]
}

// add adds a problem of a value, or of a member of it that is not there.
func (r *reader) add(n node, member string, e *Error) {
	if r.Full() {
		return
	}
	pointer := n.Pointer()
	if member != "" {
		pointer = strictjson.Join(pointer, member)
	}
	line, column := r.Place(n)
	if r.placed(e, pointer, line, column) {
		r.AddError(e)
	}
}

// refuse adds the problem of a value.
func (r *reader) refuse(n node, problem, allowed string) {
	r.add(n, "", &Error{Problem: problem, Allowed: allowed})
}

// missing adds the problem that an object lacks a member.
func (r *reader) missing(n node, member, allowed string) {
	r.add(n, member, &Error{Problem: "missing", Allowed: allowed})
}

// bad adds the problem that a value is not allowed.
func (r *reader) bad(n node, allowed string, cause error) {
	r.add(n, "", &Error{Problem: "bad value", Value: strictjson.Short(string(n.JSON())), Allowed: allowed, Err: cause})
}

// visible refuses a text without anything that can be seen.
func (r *reader) visible(n node, allowed string) {
	if n != nil && n.Kind == '"' && strings.TrimSpace(n.Text) == "" {
		r.bad(n, allowed, nil)
	}
}

// filled refuses a list without elements, and texts in it that show nothing, if it has texts.
func (r *reader) filled(n node, list, element string) {
	if n == nil || n.Kind != '[' {
		return
	}
	if len(n.Kids) == 0 {
		r.bad(n, list, nil)
	}
	for _, kid := range n.Kids {
		r.visible(kid, element)
	}
}

// unknown adds the problem that a text is none of those that are allowed.
func (r *reader) unknown(n node, names []string) {
	r.add(n, "", &Error{Problem: "unknown value", Value: text.Quote(n.Text, 80), Allowed: oneOf(n.Text, names)})
}

// oneOf is what is allowed in place of a name that is unknown.
func oneOf(name string, names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return text.OneOf(name, names)
}

// listed is a list of names as a message shows it.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// causes adds problems that another package found in a value.
func (r *reader) causes(n node, err error) {
	for _, err := range fielderror.Apart(err) {
		r.add(n, "", &Error{Err: err})
	}
}

// only refuses the members of an object that have other names, and reports whether the
// value is an object without them. instead says what to do in place of some.
func (r *reader) only(n node, names []string, instead map[string]string) bool {
	if n.Kind != '{' {
		return r.Wrong(n, n.Pointer(), "an object")
	}
	fits := true
	for i, key := range n.Keys {
		if slices.Contains(names, key) {
			continue
		}
		fits = false
		e := &Error{Problem: "unknown field", Allowed: oneOf(key, names)}
		if what := instead[key]; what != "" {
			e = &Error{Problem: noMeaning, Allowed: what}
		}
		r.addAtName(n, i, e)
	}
	return fits
}

// addAtName adds a problem of the name of the i-th member.
func (r *reader) addAtName(n node, i int, e *Error) {
	line, column := r.Place(n.Key(i))
	if !r.Full() && r.placed(e, n.Kids[i].Pointer(), line, column) {
		r.AddError(e)
	}
}

// fill reads an object into a struct, after refusing members that have no field.
func (r *reader) fill(n node, into any, instead map[string]string) bool {
	v := reflect.ValueOf(into).Elem()
	names := r.membersOf(v.Type()).names
	fits := r.only(n, names, instead)
	return n.Kind == '{' && r.object(n, names, v) && fits
}

// object fills a struct with the members of these names.
func (r *reader) object(n node, names []string, v reflect.Value) bool {
	at := n.Pointer()
	fits := r.Object(n.Some(func(key string) bool { return slices.Contains(names, key) }), at, v)
	return r.says(n, v.Type()) && fits
}

// says refuses optional members that are there and say nothing: a zero counts as left out.
// A text that must be there may be empty, unless its bounds have a min.
func (r *reader) says(n node, t reflect.Type) bool {
	fits := true
	for _, f := range r.membersOf(t).fields {
		kid := n.Member(f.Name)
		if kid == nil {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case of == reflect.TypeFor[part]():
		case of.Kind() == reflect.Struct && kid.Kind == '{':
			fits = r.says(kid, of) && fits
		case (f.Optional || f.Min != "") && kid.Kind == '"' && kid.Text == "":
			r.bad(kid, "a text that is not empty", nil)
			fits = false
		case f.Optional && f.Type.Kind() != reflect.Pointer &&
			(kid.Kind == '0' || of == reflect.TypeFor[time.Duration]()) && kid.Empty():
			if b := strictjson.BoundOf(f); b.RefusesZero() {
				r.bad(kid, b.Says(), nil)
				fits = false
			}
		}
	}
	return fits
}

// items are the elements of a list; none if it was left out.
func (r *reader) items(n node) []node {
	if n == nil {
		return nil
	}
	if n.Kind != '[' {
		r.Wrong(n, n.Pointer(), "a list")
		return nil
	}
	return n.Kids
}

// member is the member of that name, or the object itself if it has none.
func member(n node, name string) node {
	if kid := n.Member(name); kid != nil {
		return kid
	}
	return n
}

// within is the value at a JSON pointer below n, or the last value on the way to it.
func within(n node, pointer string) node {
	for _, key := range strings.Split(pointer, "/")[1:] {
		var kid node
		if n.Kind == '{' {
			kid = n.Member(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		} else if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Kids) {
			kid = n.Kids[i]
		}
		if kid == nil {
			break
		}
		n = kid
	}
	return n
}
