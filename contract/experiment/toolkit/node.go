package toolkit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// problems collects the problems of a document.
type problems struct {
	*fielderror.List
	root *strictjson.Node     // of the text; nil: there is none
	text *strictjson.Problems // knows its lines
}

func (p problems) add(path string, value any, allowed string) {
	err := fields.Wrong(cmp.Or(path, whole), value, allowed)
	if p.root != nil && path != "" {
		_, n := strictjson.Find(p.root, "", path)
		err.At(p.text.Place(n))
	}
	p.Add(err)
}

func (p problems) cause(path string, err error) { p.Because(cmp.Or(path, whole), nil, err, "") }

// whole is the field of a problem that has no place.
const whole = "the document"

// node is a value at its place in a document.
type node struct {
	problems
	path string
	v    any
	has  bool // it is there
}

// object is a node that is a JSON object.
type object struct {
	problems
	path    string
	members map[string]any
}

// object reads the node as an object with no other members than these. Anything
// else is reported, and reads as an empty object.
func (n node) object(allowed ...string) object {
	o := object{problems: n.problems, path: n.path}
	members, ok := n.v.(map[string]any)
	if !ok {
		n.add(n.path, n.v, "an object")
		return o
	}
	o.members = members
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(allowed) > 0 && !slices.Contains(allowed, name) {
			n.add(below(n.path, name), members[name], "no such member; "+strings.Join(allowed, ", "))
		}
	}
	return o
}

// below returns the path of a member.
func below(path, name string) string {
	if name == "" || strings.ContainsAny(name, " .[]\"'") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func (o object) get(name string) node {
	v, has := o.members[name]
	return node{o.problems, below(o.path, name), v, has}
}

// need is get for a required member.
func (o object) need(name, allowed string) (n node, ok bool) {
	n = o.get(name)
	if !n.has && o.members != nil {
		n.add(n.path, nil, allowed)
	}
	return n, n.has
}

// each calls fn for the members in the order of their names.
func (o object) each(fn func(name string, n node)) {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		fn(name, o.get(name))
	}
}

// wrong reports the value as not allowed.
func (n node) wrong(allowed string) {
	if n.v == nil {
		n.add(n.path, json.RawMessage("null"), allowed)
		return
	}
	n.add(n.path, n.v, allowed)
}

func (n node) list() (items []node) {
	if !n.has {
		return nil
	}
	values, ok := n.v.([]any)
	if !ok {
		n.wrong("a list")
	}
	for i, v := range values {
		items = append(items, node{n.problems, fmt.Sprintf("%s[%d]", n.path, i), v, true})
	}
	return items
}

// text reads a text, empty if it is not there.
func (n node) text() string {
	s, ok := n.v.(string)
	if n.has && !ok {
		n.wrong("a text")
	}
	return s
}

// name reads a text that must not be empty.
func (n node) name() string {
	s := n.text()
	if _, ok := n.v.(string); ok && s == "" {
		n.wrong("a text that is not empty")
	}
	return s
}

func (n node) texts() (list []string) {
	for _, item := range n.list() {
		list = append(list, item.name())
	}
	return list
}

// flag reads a boolean, false if it is not there.
func (n node) flag() bool {
	b, ok := n.v.(bool)
	if n.has && !ok {
		n.wrong("true, false")
	}
	return b
}

// number reads a number that is not negative.
func (n node) number() float64 {
	if !n.has {
		return 0
	}
	if num, ok := n.v.(json.Number); ok {
		if f, err := num.Float64(); err == nil && f >= 0 {
			return f
		}
	}
	n.wrong("a number, 0 or more")
	return 0
}

// seconds checks for a number that is not negative, or a text with a ${name}.
func (n node) seconds() {
	if s, ok := n.v.(string); !ok || !strings.Contains(s, "${") {
		n.number()
	}
}

// needed returns the text of a required member, which must not be empty.
func (o object) needed(name string) string {
	n, _ := o.need(name, "a text")
	return n.name()
}

// choice reads one of several texts; empty if it is not there.
func choice[T ~string](n node, allowed ...T) T {
	s, ok := n.v.(string)
	if n.has && (!ok || !slices.Contains(allowed, T(s))) {
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		n.wrong(strings.Join(names, ", "))
	}
	return T(s)
}
