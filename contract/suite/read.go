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

// A reader reads one file and collects what is wrong in it.
type reader struct {
	strictjson.Reader
	file string
	root *strictjson.Node
	list []error
	more int // the number of problems that are in no list
	// spelled are the problems of how YAML writes a value. What else is wrong with the value
	// follows from them.
	spelled map[place]*Error
	// known has what was found out about structs: it takes longer than reading one.
	known map[reflect.Type]*members
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
	r := &reader{file: file, spelled: map[place]*Error{}, known: map[reflect.Type]*members{}}
	r.As = func(p *strictjson.Problem) error {
		if at := strings.LastIndexByte(p.Pointer, '/'); at > 0 && p.Reason == strictjson.UnknownField {
			if what := instead[p.Pointer[1:at]][p.Pointer[at+1:]]; what != "" {
				return &Error{File: file, Line: p.Line, Column: p.Column, Pointer: p.Pointer[1:],
					Problem: noMeaning, Allowed: what}
			}
		}
		return &Error{File: file, Line: p.Line, Column: p.Column, Pointer: strings.TrimPrefix(p.Pointer, "/"),
			Problem: string(p.Reason), Value: p.Value, Allowed: p.Allowed, Err: p.Err}
	}
	// Parts that must be there are lists.
	r.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[part](): {Shape: "a list", Bind: func(n *strictjson.Node, at string, v reflect.Value) bool {
			v.Set(reflect.ValueOf(part{n, at}))
			return true
		}},
	}
	return r
}

// noMeaning is the problem of a field of the layout that would have no effect here.
const noMeaning = "a field without a meaning here"

// A part is a value that is read later.
type part struct {
	node *strictjson.Node
	at   string // its pointer
}

// parse reads the form of a file, JSON or YAML; nil: it has none.
func (r *reader) parse(data []byte) *strictjson.Node {
	switch {
	case len(data) > maxBytes:
		r.add(&Error{Problem: "too large: " + fmt.Sprintf("%d bytes", len(data)),
			Allowed: fmt.Sprintf("at most %d", maxBytes)})
	case json.Valid(data) || filepath.Ext(r.file) == ".json":
		r.root = strictjson.Parse(data, maxBytes, &r.Problems)
	default:
		r.root = r.parseYAML(data)
	}
	return r.root
}

// problems are those that were found, in no order, and the number of those besides.
func (r *reader) problems() (list []error, more int) {
	list, more = r.List()
	list = slices.DeleteFunc(slices.Concat(list, r.list), func(err error) bool {
		e, ok := err.(*Error)
		return ok && r.spelled[e.place()] != nil && r.spelled[e.place()] != e
	})
	return list, more + r.more
}

// A place is where a value is in a file.
type place struct {
	pointer      string
	line, column int
}

func (e *Error) place() place { return place{e.Pointer, e.Line, e.Column} }

// ok reports whether nothing was wrong so far.
func (r *reader) ok() bool { return r.Count() == 0 && len(r.list) == 0 }

func (r *reader) add(e *Error) {
	e.File = r.file
	r.list = append(r.list, e)
}

// at adds a problem with the place of a node, which has the pointer.
func (r *reader) at(pointer string, n *strictjson.Node, e *Error) {
	if len(r.list) >= 10*maxProblems { // of which the first by place are shown
		r.more++
		return
	}
	e.Pointer = strings.TrimPrefix(pointer, "/")
	e.Line, e.Column = r.Place(n)
	r.add(e)
}

// nearest is the value at a pointer, or the last value on the way to it.
func (r *reader) nearest(pointer string) *strictjson.Node {
	n, _ := r.find(pointer)
	return n
}

// is returns the value at a pointer if it is of a kind, else nil.
func (r *reader) is(kind byte, pointer string) *strictjson.Node {
	if n, there := r.find(pointer); there && n.Kind == kind {
		return n
	}
	return nil
}

// find is nearest, and reports whether it is the value at the pointer.
func (r *reader) find(pointer string) (n *strictjson.Node, there bool) {
	n = r.root
	for _, key := range strings.Split(pointer, "/")[1:] {
		kid := child(n, key)
		if kid == nil {
			return n, false
		}
		n = kid
	}
	return n, true
}

func child(n *strictjson.Node, key string) *strictjson.Node {
	switch n.Kind {
	case '{':
		if strings.Contains(key, "~") {
			key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		}
		return n.Member(key)
	case '[':
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Kids) {
			return n.Kids[i]
		}
	}
	return nil
}

// refuse adds the problem of the value at a pointer.
func (r *reader) refuse(pointer, problem, allowed string) {
	r.at(pointer, r.nearest(pointer), &Error{Problem: problem, Allowed: allowed})
}

// bad adds the problem that a value is not allowed.
func (r *reader) bad(pointer, allowed string, cause error) {
	n := r.nearest(pointer)
	r.at(pointer, n,
		&Error{Problem: "bad value", Value: strictjson.Short(string(n.JSON())), Allowed: allowed, Err: cause})
}

// visible refuses a text without anything that can be seen.
func (r *reader) visible(pointer, allowed string) {
	if n := r.is('"', pointer); n != nil && strings.TrimSpace(n.Text) == "" {
		r.bad(pointer, allowed, nil)
	}
}

// oneOrMore refuses a list without elements.
func (r *reader) oneOrMore(pointer, allowed string) {
	if n := r.is('[', pointer); n != nil && len(n.Kids) == 0 {
		r.bad(pointer, allowed, nil)
	}
}

// unknown adds the problem that a text is none of those that are allowed.
func (r *reader) unknown(pointer, value string, names []string) {
	r.at(pointer, r.nearest(pointer), &Error{Problem: "unknown value", Value: text.Quote(value, 80),
		Allowed: listed(names) + text.Meant(value, names)})
}

// listed is a list of names as a message shows it.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// cause adds a problem that another package found in the value at a pointer, or in a
// part of it.
func (r *reader) cause(pointer string, err error) {
	for _, err := range fielderror.Apart(err) {
		r.at(pointer, r.nearest(pointer), &Error{Err: err})
	}
}

// only refuses the members of an object that have other names, and reports whether the
// value is an object without them. instead says what to do in place of some.
func (r *reader) only(p part, names []string, instead map[string]string) bool {
	if p.node.Kind != '{' {
		return r.Wrong(p.node, p.at, "an object")
	}
	fits := true
	for i, key := range p.node.Keys {
		if slices.Contains(names, key) {
			continue
		}
		fits = false
		e := &Error{Problem: "unknown field", Allowed: "one of " + listed(names) + text.Meant(key, names)}
		if what := instead[key]; what != "" {
			e = &Error{Problem: noMeaning, Allowed: what}
		}
		r.at(strictjson.Join(p.at, key), p.node.Key(i), e)
	}
	return fits
}

// fill reads an object into a struct, after refusing members that have no field.
func (r *reader) fill(p part, into any, instead map[string]string) bool {
	v := reflect.ValueOf(into).Elem()
	names := r.membersOf(v.Type()).names
	fits := r.only(p, names, instead)
	if p.node.Kind != '{' {
		return false
	}
	return r.object(p, names, v) && fits
}

// object fills a struct with the members of these names.
func (r *reader) object(p part, names []string, v reflect.Value) bool {
	known := p.node.Some(func(key string) bool { return slices.Contains(names, key) })
	fits := r.Object(known, p.at, v)
	return r.says(known, p.at, v.Type()) && fits
}

// says refuses optional members that are there and say nothing: a zero counts as left out.
// A text that must be there may be empty, unless its bounds have a min.
func (r *reader) says(n *strictjson.Node, at string, t reflect.Type) bool {
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
		below := strictjson.Join(at, f.Name)
		switch {
		case of == reflect.TypeFor[part]():
		case of.Kind() == reflect.Struct && kid.Kind == '{':
			fits = r.says(kid, below, of) && fits
		case (f.Optional || f.Min != "") && kid.Kind == '"' && kid.Text == "":
			r.bad(below, "a text that is not empty", nil)
			fits = false
		case f.Optional && f.Type.Kind() != reflect.Pointer &&
			(kid.Kind == '0' || of == reflect.TypeFor[time.Duration]()) &&
			kid.Empty():
			if b := strictjson.BoundOf(f); b.RefusesZero() {
				r.bad(below, b.Says(), nil)
				fits = false
			}
		}
	}
	return fits
}

// items are the elements of a list; none if the part was left out.
func (r *reader) items(p part) (items []part) {
	if p.node == nil {
		return nil
	}
	if p.node.Kind != '[' {
		r.Wrong(p.node, p.at, "a list")
		return nil
	}
	for i, kid := range p.node.Kids {
		items = append(items, part{kid, p.at + "/" + strconv.Itoa(i)})
	}
	return items
}
