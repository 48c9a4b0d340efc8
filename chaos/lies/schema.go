package lies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// RenameKey gives members another name, as a release of the other side does: a
// drawn name wherever it occurs in the document, or the members that the paths
// name. to is the new name. "" turns snake_case into camelCase and the reverse,
// and appends Value to a single word, since encoding/json reads names whatever
// their case.
func RenameKey(to string, paths ...string) chaos.Fault {
	return renameKeyRow.Of(renameKey{pathsIn(paths), to})
}

var renameKeyRow = row(catalog.Row{
	Kind: "renamed_key", Doc: "A member has another name.",
	Go: "lies.RenameKey(to, paths...)", Class: chaos.ClassProtocol,
}, func(p renameKey) lie {
	return lie{wants: "member", rank: members,
		apply: everywhere(func(e *edit, i int) bool {
			name := p.To
			if name == "" {
				name = restyled(e.doc.Name(i))
			}
			_, taken := e.doc.Member(int(e.doc.Nodes[i].Parent), name)
			return e.doc.IsMember(i) && !taken && e.rename(i, name)
		})}
})

type renameKey struct {
	where
	To string `json:"to,omitempty" doc:"the new name; left out: the old one in another style"`
}

// RemoveKey removes members as if their schema no longer had them: a drawn name
// wherever it occurs in the document, or the members that the paths name.
// [Missing] removes one member of one object.
func RemoveKey(paths ...string) chaos.Fault { return removeKeyRow.Of(pathsIn(paths)) }

var removeKeyRow = lieRow[where](catalog.Row{
	Kind: "removed_key", Doc: "A member is gone from all objects.",
	Go: "lies.RemoveKey(paths...)", Class: chaos.ClassProtocol,
}, lie{wants: "member", rank: members,
	apply: func(e *edit, i int) bool {
		if e.addressed {
			return e.remove(i)
		}
		return e.remove(sameName(e, i)...)
	}})

// AddKey adds a member that callers do not know: to the result if it is an
// object, to its elements if it is a list of objects, or to the objects that
// the paths name. value is anything that has JSON. An object that already has
// the name stays as it is.
func AddKey(name string, value any, paths ...string) chaos.Fault {
	doc, err := json.Marshal(value)
	return addKeyRow.Of(addKey{Name: name, where: pathsIn(paths), Value: doc, given: value, err: err})
}

var addKeyRow = row(catalog.Row{
	Kind: "added_key", Doc: "An object has an unknown member.",
	Go: "lies.AddKey(name, value, paths...)", Example: `{"name":"legacy","value":true}`, Class: chaos.ClassProtocol,
}, func(p addKey) lie {
	doc, _ := json.Marshal(p.Value) // compact; Check reports a value without JSON
	return lie{wants: "object without such a member",
		rank: func(e *edit, i int) int {
			if e.doc.Kind(i) == jsonedit.Object || e.doc.Kind(i) == jsonedit.Array && i == 0 {
				return anything(e, i)
			}
			return 0
		},
		apply: func(e *edit, i int) (done bool) {
			objects := []int{i}
			if e.doc.Kind(i) == jsonedit.Array {
				objects = e.doc.Children(i)
			}
			for _, o := range objects {
				if _, taken := e.doc.Member(o, p.Name); !taken && e.doc.Kind(o) == jsonedit.Object {
					done = e.insert(o, p.Name, doc) || done
				}
			}
			return done
		}}
})

type addKey struct {
	Name string `json:"name" doc:"of the member that is added"`
	where
	Value json.RawMessage `json:"value" doc:"its value"`
	given any             // of which Value is the JSON
	err   error           // of a value without JSON
}

func (p addKey) Check(c *catalog.Check) {
	c.That(p.Name != "", "name", `""`, "a name that is not empty")
	c.That(p.err == nil, "value", fmt.Sprintf("%T", p.given), fmt.Sprintf("a value that has JSON (%v)", p.err))
	p.where.Check(c)
}

// Retype gives members another type: a list becomes its first element, or null
// if it is empty, and any other value becomes a list of one. It changes a drawn
// name wherever it occurs in the document, or the values that the paths name.
func Retype(paths ...string) chaos.Fault { return retypeRow.Of(pathsIn(paths)) }

var retypeRow = lieRow[where](catalog.Row{
	Kind: "retyped_key", Doc: "A member has another type.", Go: "lies.Retype(paths...)", Class: chaos.ClassProtocol,
}, lie{wants: "member",
	rank: func(e *edit, i int) int {
		if e.addressed {
			return 1 // the result itself too
		}
		return members(e, i)
	},
	apply: everywhere(func(e *edit, i int) bool {
		if e.doc.Kind(i) != jsonedit.Array {
			return e.replace(i, listOf(e.doc.Raw(i)))
		}
		if rows := e.doc.Children(i); len(rows) > 0 {
			return e.replace(i, e.doc.Raw(rows[0]))
		}
		return e.replace(i, []byte("null"))
	})})

// Envelope wraps a value in an object: {"data": …}, under the given name; "" is
// data. Without paths it wraps the whole result.
func Envelope(name string, paths ...string) chaos.Fault {
	return envelopeRow.Of(envelope{name, pathsIn(paths)})
}

var envelopeRow = row(catalog.Row{
	Kind: "enveloped", Doc: "A value is wrapped in an object.",
	Go: "lies.Envelope(name, paths...)", Class: chaos.ClassProtocol,
}, func(p envelope) lie {
	under := jsonedit.Quote(cmp.Or(p.Name, "data"))
	return lie{wants: "value", rank: anything,
		apply: func(e *edit, i int) bool {
			return e.replace(i, fmt.Appendf(nil, `{%s:%s}`, under, e.doc.Raw(i)))
		}}
})

type envelope struct {
	Name string `json:"name,omitempty" doc:"of the member that holds the value; left out: data"`
	where
}

// SchemaDrift is a second version of an interface: every name of several words
// changes between snake_case and camelCase, and the result is wrapped in an
// envelope, {"version":"v2","data":…}.
func SchemaDrift() chaos.Fault { return schemaDriftRow.Of(catalog.None{}) }

var schemaDriftRow = lieRow[catalog.None](catalog.Row{
	Kind: "schema_drift", Doc: "The result has the schema of a second version.",
	Go: "lies.SchemaDrift()", Class: chaos.ClassProtocol,
}, lie{wants: "value", rank: anything,
	apply: func(e *edit, _ int) bool {
		var edits []jsonedit.Edit
		for i := range e.doc.Nodes {
			if name := e.doc.Name(i); name != "" && strings.IndexFunc(name, severalWords) > 0 {
				edits = append(edits, e.doc.Rename(i, restyled(name)))
			}
		}
		return e.replaceAll(fmt.Appendf(nil, `{"version":"v2","data":%s}`, e.doc.Apply(edits...)))
	}})

func severalWords(r rune) bool { return r == '_' || unicode.IsUpper(r) }

// UnknownEnum replaces an enumeration value by a word that callers do not know.
// It takes a text of one word in lower or upper case under a name such as
// status, state, type or kind, or else another such text. The new word keeps
// the case.
func UnknownEnum(paths ...string) chaos.Fault { return unknownEnumRow.Of(pathsIn(paths)) }

var unknownEnumRow = lieRow[where](catalog.Row{
	Kind: "unknown_enum", Doc: "A word from a small set is replaced by an unknown one.",
	Go: "lies.UnknownEnum(paths...)", Class: chaos.ClassProtocol,
}, lie{wants: "word in lower or upper case",
	rank: func(e *edit, i int) int {
		if e.doc.Kind(i) != jsonedit.String || !enumWord.MatchString(e.doc.String(i)) {
			return 0
		}
		if e.addressed || enumName.MatchString(nameOf(e, i)) {
			return 1
		}
		if isID(nameOf(e, i)) {
			return 0
		}
		return 2
	},
	apply: func(e *edit, i int) bool {
		words := []string{"pending_review", "partially_settled", "suspended", "superseded", "on_hold",
			"unclassified"}
		word, old := words[e.pick(i, 0, len(words))], e.doc.String(i)
		if strings.EqualFold(word, old) {
			word = "deferred"
		}
		if old == strings.ToUpper(old) {
			word = strings.ToUpper(word)
		}
		return e.replace(i, jsonedit.Quote(word))
	}})

var (
	enumWord = regexp.MustCompile(`^(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*)$`)
	enumName = regexp.MustCompile(`(?i)(?:^|_)(?:status|state|type|kind|category|level|priority|severity|mode|stage|phase|reason|method|result)$`)
)

// everywhere applies a change to all members with the drawn name, or to the one
// place that a path names.
func everywhere(apply func(*edit, int) bool) func(*edit, int) bool {
	return func(e *edit, i int) (done bool) {
		if e.addressed {
			return apply(e, i)
		}
		for _, k := range sameName(e, i) {
			done = apply(e, k) || done
		}
		return done
	}
}

// sameName returns the members with the name of member i that do not lie within
// one another.
func sameName(e *edit, i int) (nodes []int) {
	name := e.doc.Name(i)
	for k := 0; k < len(e.doc.Nodes); k++ {
		if e.doc.IsMember(k) && e.doc.Name(k) == name {
			nodes = append(nodes, k)
			k = int(e.doc.Nodes[k].Next) - 1
		}
	}
	return nodes
}

// restyled is a name in the other style.
func restyled(name string) string {
	var b strings.Builder
	if strings.Contains(strings.Trim(name, "_"), "_") {
		for k, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' }) {
			first, size := utf8.DecodeRuneInString(word)
			if k > 0 {
				first = unicode.ToUpper(first)
			}
			b.WriteRune(first)
			b.WriteString(word[size:])
		}
		return b.String()
	}
	for k, r := range name {
		if unicode.IsUpper(r) && k > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.String() == name {
		return name + "Value"
	}
	return b.String()
}
