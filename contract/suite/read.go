package suite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

const maxBytes = 16 << 20

// A node is a value of a file, with its place in the text. nil: it was left out.
type node = *strictjson.Node

// A part is a value that is read later.
type part struct{ node }

// A reader reads one file and collects what is wrong in it.
type reader struct {
	strictjson.Reader
	file string
}

func newReader(file string) *reader {
	r := &reader{file: file}
	r.Most = 10 * maxProblems // of which the first by place are shown
	r.As = func(p *strictjson.Problem) error {
		e := p.Field("")
		e.File, e.Field = file, strings.TrimPrefix(e.Field, "/")
		return e
	}
	// Parts that must be there are lists.
	r.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[part](): {Shape: "a list", Bind: func(n node, v reflect.Value) bool {
			v.Set(reflect.ValueOf(part{n}))
			return true
		}},
	}
	return r
}

// parse reads the form of a file, JSON or YAML; nil: it has none.
func (r *reader) parse(data []byte) node {
	switch {
	case len(data) > maxBytes:
		r.AddError(&fielderror.Error{File: r.file, Err: fmt.Errorf("too large: %d bytes", len(data)),
			Allowed: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	case json.Valid(data) || filepath.Ext(r.file) == ".json":
		return strictjson.Parse(data, maxBytes, &r.Problems)
	}
	return r.parseYAML(data)
}

func (r *reader) ok() bool { return r.Count() == 0 }

func (r *reader) add(n node, e *fielderror.Error) {
	line, column := r.Place(n)
	r.addAt(n.Pointer(), line, column, e)
}

func (r *reader) addAt(pointer string, line, column int, e *fielderror.Error) {
	if !r.Full() {
		e.File, e.Field, e.Line, e.Column = r.file, strings.TrimPrefix(pointer, "/"), line, column
		r.AddError(e)
	}
}

func (r *reader) refuse(n node, problem, allowed string) {
	r.add(n, &fielderror.Error{Err: errors.New(problem), Allowed: allowed})
}

// visible refuses a text without anything that can be seen.
func (r *reader) visible(n node, allowed string) {
	if n != nil && n.Kind() == jsonedit.String && strings.TrimSpace(n.String()) == "" {
		r.Refuse(n, allowed, nil)
	}
}

// filled refuses a list without elements, and texts in it that show nothing, if it has texts.
func (r *reader) filled(n node, list, element string) {
	if n == nil || n.Kind() != jsonedit.Array {
		return
	}
	if n.Len() == 0 {
		r.Refuse(n, list, nil)
	}
	for _, kid := range n.Values() {
		r.visible(kid, element)
	}
}

func (r *reader) unknown(n node, names []string) {
	r.add(n, &fielderror.Error{Value: n.String(), Allowed: oneOf(n.String(), names)})
}

// choose finds the row of a table that a member of an object names. allowed says what the member
// is; "": one of the names.
func choose[T any](r *reader, n node, key, allowed string, table map[string]T) (row T, ok bool) {
	if n.Kind() != jsonedit.Object {
		return row, r.Wrong(n, "an object")
	}
	named, names := n.Get(key), slices.Sorted(maps.Keys(table))
	switch {
	case named == nil:
		r.Missing(n, key, cmp.Or(allowed, listed(names)))
	case named.Kind() != jsonedit.String:
		r.Wrong(named, "a string")
	default:
		if row, ok = table[named.String()]; !ok {
			r.unknown(named, names)
		}
	}
	return row, ok
}

// oneOf is what is allowed in place of a name that is unknown.
func oneOf(name string, names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return text.OneOf(name, names)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// causes adds problems that another package found in a value.
func (r *reader) causes(n node, err error) {
	for _, err := range fielderror.Apart(err) {
		r.add(n, &fielderror.Error{Err: err})
	}
}

func (r *reader) fill(n node, into any) bool { return r.Object(n, reflect.ValueOf(into).Elem()) }

// both fills two structs from one object: the common keys, and those of its type. It
// reports whether all of the object fits, and whether the keys of its type do.
func (r *reader) both(n node, common any, params reflect.Value) (fits, own bool) {
	v, of := reflect.ValueOf(common).Elem(), params.Elem()
	fits = r.Only(n, v.Type(), of.Type())
	fits = r.Members(n, v) && fits
	own = r.Members(n, of)
	return fits && own, own
}

// items are the elements of a list; none if it was left out.
func (r *reader) items(n node) []node {
	if n == nil {
		return nil
	}
	if n.Kind() != jsonedit.Array {
		r.Wrong(n, "a list")
		return nil
	}
	return n.Values()
}

// member is the member of that name, or the object itself if it has none.
func member(n node, name string) node {
	if kid := n.Get(name); kid != nil {
		return kid
	}
	return n
}

// within is the value at a JSON pointer below n, or the last value on the way to it.
func within(n node, pointer string) node {
	for _, key := range jsonedit.PointerKeys(pointer) {
		kid := n.Part(key)
		if kid == nil {
			break
		}
		n = kid
	}
	return n
}
