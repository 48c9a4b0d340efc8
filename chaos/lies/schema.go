package lies

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// RenameKey gives members another name, as a release of the other side does: a
// drawn name wherever it occurs in the document, or the members that the paths
// name. to is the new name. "" turns snake_case into camelCase and the reverse,
// and appends Value to a single word, since encoding/json reads names whatever
// their case.
func RenameKey(to string, paths ...string) chaos.Fault {
	params := map[string]any{}
	if to != "" {
		params["to"] = to
	}
	return lie{kind: "renamed_key", class: chaos.ClassProtocol, params: params, wants: "member", rank: members,
		apply: everywhere(func(e *edit, i int) bool {
			name := to
			if name == "" {
				name = restyled(e.doc.Name(i))
			}
			_, taken := e.doc.Member(int(e.doc.Nodes[i].Parent), name)
			return e.doc.IsMember(i) && !taken && e.rename(i, name)
		})}.at(paths)
}

// RemoveKey removes members as if their schema no longer had them: a drawn name
// wherever it occurs in the document, or the members that the paths name.
// [Missing] removes one member of one object.
func RemoveKey(paths ...string) chaos.Fault {
	return lie{kind: "removed_key", class: chaos.ClassProtocol, wants: "member", rank: members,
		apply: func(e *edit, i int) bool {
			if e.addressed {
				return e.remove(i)
			}
			return e.remove(sameName(e, i)...)
		}}.at(paths)
}

// AddKey adds a member that callers do not know: to the result if it is an
// object, to its elements if it is a list of objects, or to the objects that
// the paths name. value is anything that has JSON. An object that already has
// the name stays as it is.
func AddKey(name string, value any, paths ...string) chaos.Fault {
	doc, err := json.Marshal(value)
	return lie{kind: "added_key", class: chaos.ClassProtocol, params: map[string]any{"name": name, "value": json.RawMessage(doc)},
		check: func(c *param.Check) {
			c.That(name != "", "name", `""`, "a name that is not empty")
			c.That(err == nil, "value", fmt.Sprintf("%T", value), fmt.Sprintf("a value that has JSON (%v)", err))
		},
		wants: "object without such a member",
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
				if _, taken := e.doc.Member(o, name); !taken && e.doc.Kind(o) == jsonedit.Object {
					done = e.insert(o, name, doc) || done
				}
			}
			return done
		}}.at(paths)
}

// Retype gives members another type: a list becomes its first element, or null
// if it is empty, and any other value becomes a list of one. It changes a drawn
// name wherever it occurs in the document, or the values that the paths name.
func Retype(paths ...string) chaos.Fault {
	return lie{kind: "retyped_key", class: chaos.ClassProtocol, wants: "member",
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
		})}.at(paths)
}

// Envelope wraps a value in an object: {"data": …}, under the given name; "" is
// data. Without paths it wraps the whole result.
func Envelope(name string, paths ...string) chaos.Fault {
	params := map[string]any{}
	if name == "" {
		name = "data"
	} else {
		params["name"] = name
	}
	return lie{kind: "enveloped", class: chaos.ClassProtocol, params: params, wants: "value", rank: anything,
		apply: func(e *edit, i int) bool {
			return e.replace(i, fmt.Appendf(nil, `{%s:%s}`, jsonedit.Quote(name), e.doc.Raw(i)))
		}}.at(paths)
}

// SchemaDrift is a second version of an interface: every name of several words
// changes between snake_case and camelCase, and the result is wrapped in an
// envelope, {"version":"v2","data":…}.
func SchemaDrift() chaos.Fault {
	return lie{kind: "schema_drift", class: chaos.ClassProtocol, wants: "value", rank: anything,
		apply: func(e *edit, _ int) bool {
			var edits []jsonedit.Edit
			for i := range e.doc.Nodes {
				if name := e.doc.Name(i); name != "" && strings.IndexFunc(name, severalWords) > 0 {
					edits = append(edits, e.doc.Rename(i, restyled(name)))
				}
			}
			return e.replaceAll(fmt.Appendf(nil, `{"version":"v2","data":%s}`, e.doc.Apply(edits...)))
		}}.at(nil)
}

func severalWords(r rune) bool { return r == '_' || unicode.IsUpper(r) }

// UnknownEnum replaces an enumeration value by a word that callers do not know.
// It takes a text of one word in lower or upper case under a name such as
// status, state, type or kind, or else another such text. The new word keeps
// the case.
func UnknownEnum(paths ...string) chaos.Fault {
	return lie{kind: "unknown_enum", class: chaos.ClassProtocol, wants: "word in lower or upper case",
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
			words := []string{"pending_review", "partially_settled", "suspended", "superseded", "on_hold", "unclassified"}
			word, old := words[e.pick(i, 0, len(words))], e.doc.String(i)
			if strings.EqualFold(word, old) {
				word = "deferred"
			}
			if old == strings.ToUpper(old) {
				word = strings.ToUpper(word)
			}
			return e.replace(i, jsonedit.Quote(word))
		}}.at(paths)
}

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
