package lies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
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

var renameKeyRow = row(catalog.Row{Kind: "renamed_key", Doc: "A member has another name.",
	Go: "lies.RenameKey(to, paths...)", Class: chaos.ClassProtocol}, "member", all(isMember),
	everywhere(func(e *edit, i int, p renameKey) bool {
		name := p.To
		if name == "" {
			name = restyled(e.doc.Name(i))
		}
		_, taken := e.doc.Member(int(e.doc.Nodes[i].Parent), name)
		return e.doc.IsMember(i) && !taken && e.rename(i, name)
	}))

type renameKey struct {
	where
	To string `json:"to,omitempty" doc:"the new name; left out: the old one in another style"`
}

// RemoveKey removes members as if their schema no longer had them: a drawn name
// wherever it occurs in the document, or the members that the paths name.
// [Missing] removes one member of one object.
func RemoveKey(paths ...string) chaos.Fault { return removeKeyRow.Of(pathsIn(paths)) }

var removeKeyRow = row(catalog.Row{Kind: "removed_key", Doc: "A member is gone from all objects.",
	Go: "lies.RemoveKey(paths...)", Class: chaos.ClassProtocol}, "member", all(isMember), func(e *edit, i int, _ where) bool {
	if e.addressed {
		return e.remove(i)
	}
	return e.remove(sameName(e, i)...)
})

// AddKey adds a member that callers do not know: to the result if it is an
// object, to its elements if it is a list of objects, or to the objects that
// the paths name. value is anything that has JSON. An object that already has
// the name stays as it is.
func AddKey(name string, value any, paths ...string) chaos.Fault {
	doc, err := json.Marshal(value)
	return addKeyRow.Of(addKey{Name: name, where: pathsIn(paths), Value: doc, given: value, err: err})
}

var addKeyRow = row(catalog.Row{Kind: "added_key", Doc: "An object has an unknown member.",
	Go: "lies.AddKey(name, value, paths...)", Example: `{"name":"legacy","value":true}`, Class: chaos.ClassProtocol},
	"object without such a member", all(func(e *edit, i int) bool {
		k := e.doc.Kind(i)
		return isMeant(e, i) && (k == jsonedit.Object || k == jsonedit.Array && i == 0)
	}), func(e *edit, i int, p addKey) (done bool) {
		doc, _ := json.Marshal(p.Value) // compact; Check reports a value without JSON
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
}

// Retype gives members another type: a list becomes its first element, or null
// if it is empty, and any other value becomes a list of one. It changes a drawn
// name wherever it occurs in the document, or the values that the paths name.
func Retype(paths ...string) chaos.Fault { return retypeRow.Of(pathsIn(paths)) }

var retypeRow = row(catalog.Row{Kind: "retyped_key", Doc: "A member has another type.",
	Go: "lies.Retype(paths...)", Class: chaos.ClassProtocol}, "member",
	all(func(e *edit, i int) bool { return e.addressed || e.doc.IsMember(i) }), // a path may name the result itself
	everywhere(func(e *edit, i int, _ where) bool {
		if e.doc.Kind(i) != jsonedit.Array {
			return e.replace(i, listOf(e.doc.Raw(i)))
		}
		if rows := e.doc.Children(i); len(rows) > 0 {
			return e.replace(i, e.doc.Raw(rows[0]))
		}
		return e.replace(i, []byte("null"))
	}))

// Envelope wraps a value in an object: {"data": …}, under the given name; "" is
// data. Without paths it wraps the whole result.
func Envelope(name string, paths ...string) chaos.Fault {
	return envelopeRow.Of(envelope{name, pathsIn(paths)})
}

var envelopeRow = row(catalog.Row{Kind: "enveloped", Doc: "A value is wrapped in an object.",
	Go: "lies.Envelope(name, paths...)", Class: chaos.ClassProtocol}, "value", all(isMeant),
	func(e *edit, i int, p envelope) bool {
		return e.replace(i, fmt.Appendf(nil, `{%s:%s}`, jsonedit.Quote(cmp.Or(p.Name, "data")), e.doc.Raw(i)))
	})

type envelope struct {
	Name string `json:"name,omitempty" doc:"of the member that holds the value; left out: data"`
	where
}

// SchemaDrift is a second version of an interface: every name of several words
// changes between snake_case and camelCase, and the result is wrapped in an
// envelope, {"version":"v2","data":…}.
func SchemaDrift() chaos.Fault { return schemaDriftRow.Of(catalog.None{}) }

var schemaDriftRow = row(catalog.Row{Kind: "schema_drift",
	Doc: "The result has the schema of a second version.", Go: "lies.SchemaDrift()",
	Class: chaos.ClassProtocol}, "value", all(isMeant), func(e *edit, _ int, _ catalog.None) bool {
	var edits []jsonedit.Edit
	for i := range e.doc.Nodes {
		if name := e.doc.Name(i); name != "" && strings.IndexFunc(name, severalWords) > 0 {
			edits = append(edits, e.doc.Rename(i, restyled(name)))
		}
	}
	return e.replaceAll(fmt.Appendf(nil, `{"version":"v2","data":%s}`, e.doc.Apply(edits...)))
})

func severalWords(r rune) bool { return r == '_' || unicode.IsUpper(r) }

// UnknownEnum replaces an enumeration value by a word that callers do not know.
// It takes a text of one word in lower or upper case under a name such as
// status, state, type or kind, or else another such text. The new word keeps
// the case.
func UnknownEnum(paths ...string) chaos.Fault { return unknownEnumRow.Of(pathsIn(paths)) }

var unknownEnumRow = row(catalog.Row{Kind: "unknown_enum",
	Doc: "A word from a small set is replaced by an unknown one.", Go: "lies.UnknownEnum(paths...)",
	Class: chaos.ClassProtocol}, "word in lower or upper case", func(e *edit, i int) int {
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
}, func(e *edit, i int, _ where) bool {
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
})

var (
	enumWord = regexp.MustCompile(`^(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*)$`)
	enumName = regexp.MustCompile(`(?i)(?:^|_)(?:status|state|type|kind|category|level|priority|severity|mode|stage|phase|reason|method|result)$`)
)

// everywhere applies a change to all members with the drawn name, or to the one
// place that a path names.
func everywhere[P any](apply func(*edit, int, P) bool) func(*edit, int, P) bool {
	return func(e *edit, i int, p P) (done bool) {
		if e.addressed {
			return apply(e, i, p)
		}
		for _, k := range sameName(e, i) {
			done = apply(e, k, p) || done
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

// dates matches dates of RFC 3339, alone, before a time of day or within a
// text.
var dates = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}(?:\b|T)`)

// ShiftDate moves a date by days, which is not 0 and at most a thousand years
// either way (365,250 days). It knows the dates of RFC 3339 (2026-03-01), also
// within a text and with a time of day, which keeps its value and its zone. The
// result is a date that exists.
func ShiftDate(days int, paths ...string) chaos.Fault {
	return shiftDateRow.Of(shiftDate{days, pathsIn(paths)})
}

var shiftDateRow = row(catalog.Row{Kind: "shifted_date", Doc: "A date is moved by some days.",
	Go: "lies.ShiftDate(days, paths...)", Example: `{"days":1}`, Class: chaos.ClassValue},
	"date of the form 2006-01-02", all(hasDate),
	func(e *edit, i int, p shiftDate) bool {
		text := e.doc.String(i)
		spans := dates.FindAllStringIndex(text, -1)
		first := e.pick(i, 0, len(spans))
		for k := range spans {
			if moved, ok := shifted(text, spans[(first+k)%len(spans)][0], p.Days); ok {
				return e.replace(i, jsonedit.Quote(moved))
			}
		}
		return false
	})

type shiftDate struct {
	Days int `json:"days" bounds:"min=-365250,max=365250" allowed:"from -365250 to 365250, not 0" doc:"by which the date is moved; not 0"`
	where
}

func (p shiftDate) Check(c *catalog.Check) {
	c.That(p.Days != 0, "days", p.Days, "from -365250 to 365250, not 0")
}

// shifted moves the date at a place of a text. ok is false without one, before or after.
func shifted(text string, at, days int) (moved string, ok bool) {
	const form = time.DateOnly
	day, err := time.Parse(form, text[at:at+len(form)])
	day = day.AddDate(0, 0, days)
	return text[:at] + day.Format(form) + text[at+len(form):], err == nil && day.Year() >= 0 && day.Year() <= 9999
}

// hasDate decodes the text first: an escape before a date would hide it.
func hasDate(e *edit, i int) bool {
	return e.doc.Kind(i) == jsonedit.String && hasDigit(e.doc.Raw(i)) && dates.MatchString(e.doc.String(i))
}

// FlipType writes the same value in another type: 42 as "42", "42" as 42, true
// as "true", a text as the only element of a list. Without paths it draws a
// number, boolean or numeric text, or else a text. For null, lists and objects
// there is [Retype].
func FlipType(paths ...string) chaos.Fault { return flipTypeRow.Of(pathsIn(paths)) }

var flipTypeRow = row(catalog.Row{Kind: "flipped_type", Doc: "A number becomes a text, or a text a number.",
	Go: "lies.FlipType(paths...)", Class: chaos.ClassValue}, "number, boolean or text", func(e *edit, i int) int {
	switch e.doc.Kind(i) {
	case jsonedit.Number, jsonedit.Bool:
		return 1
	case jsonedit.String:
		if isNumeral(e.doc.String(i)) {
			return 1
		}
		return 2
	}
	return 0
}, func(e *edit, i int, _ where) bool {
	before := e.doc.Raw(i)
	if e.doc.Kind(i) != jsonedit.String {
		return e.replace(i, jsonedit.Quote(string(before)))
	}
	if text := e.doc.String(i); isNumeral(text) {
		return e.replace(i, []byte(text))
	}
	return e.replace(i, listOf(before))
})

func listOf(raw []byte) []byte {
	list := append(make([]byte, 0, len(raw)+2), '[')
	return append(append(list, raw...), ']')
}

// units are groups that a reader may confuse: the number beside them stays and
// means something else. The first three are currencies.
var units = [...][]string{
	{"EUR", "USD", "GBP", "CHF", "JPY"},
	{"eur", "usd", "gbp", "chf", "jpy"},
	{"€", "$", "£", "¥"},
	{"km", "mi", "m", "ft"},
	{"cm", "in", "mm"},
	{"kg", "lb", "g", "oz"},
	{"°C", "°F"},
	{"celsius", "fahrenheit"},
	{"metric", "imperial"},
	{"ms", "s", "min", "h"},
	{"seconds", "minutes", "hours", "days"},
	{"KB", "MB", "GB", "TB"},
	{"km/h", "mph", "m/s"},
}

// SwapUnit replaces a unit or currency by another and leaves the number as it
// is. It finds a value that is one ("EUR", "km"), or one within a text beside a
// number ("12 km", "€19.90"). It knows common currencies, and units of length,
// weight, temperature, time, speed and size.
func SwapUnit(paths ...string) chaos.Fault { return swapUnitRow.Of(pathsIn(paths)) }

var swapUnitRow = row(catalog.Row{Kind: "swapped_unit", Doc: "A unit or currency is replaced by another one.",
	Go: "lies.SwapUnit(paths...)", Class: chaos.ClassValue}, "unit or currency", func(e *edit, i int) int {
	if e.doc.Kind(i) != jsonedit.String {
		return 0
	}
	if _, isUnit := groupOf(e.doc.String(i)); isUnit {
		return 1
	}
	if hasDigit(e.doc.Raw(i)) {
		return 2
	}
	return 0
}, func(e *edit, i int, _ where) bool {
	text := e.doc.String(i)
	if group, isUnit := groupOf(text); isUnit {
		return e.replace(i, jsonedit.Quote(another(e, i, group, text)))
	}
	from, to := unitIn(text)
	if from == to {
		return false
	}
	group, _ := groupOf(text[from:to])
	return e.replace(i, jsonedit.Quote(text[:from]+another(e, i, group, text[from:to])+text[to:]))
})

func groupOf(unit string) (group []string, ok bool) {
	for _, group := range units {
		if slices.Contains(group, unit) {
			return group, true
		}
	}
	return nil, false
}

// another draws a unit of the group that is not the given one.
func another(e *edit, i int, group []string, unit string) string {
	at := slices.Index(group, unit)
	return group[(at+1+e.pick(i, 0, len(group)-1))%len(group)]
}

// unitBeside finds a currency before a number, or any unit after one, with or without
// spaces between.
var unitBeside = sync.OnceValue(unitsInTexts)

func unitsInTexts() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[ (])(` + anyOf(units[:3]) + `) *[0-9]|[0-9] *(` + anyOf(units[:]) + `)(?:$|[ ,;).])`)
}

// anyOf is a regular expression of all units in groups.
func anyOf(groups [][]string) string {
	return strings.ReplaceAll(strings.Join(slices.Concat(groups...), "|"), "$", `\$`)
}

// unitIn finds a unit beside a number of the text. If there is none, from and to are equal.
func unitIn(text string) (from, to int) {
	m := unitBeside().FindStringSubmatchIndex(text)
	switch {
	case m == nil:
		return 0, 0
	case m[2] >= 0:
		return m[2], m[3]
	}
	return m[4], m[5]
}
