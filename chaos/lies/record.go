package lies

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// FabricateRecord adds an invented element to a list: a copy of a drawn one
// with other digits in each number and in each text that has digits. If a text
// has none, its two words are exchanged. Paths name lists.
func FabricateRecord(paths ...string) chaos.Fault { return fabricateRecordRow.Of(pathsIn(paths)) }

var fabricateRecordRow = row(catalog.Row{Kind: "fabricated_record",
	Doc: "A list has a record that does not exist.", Go: "lies.FabricateRecord(paths...)",
	Class: chaos.ClassValue}, "list with elements", lists(1), func(e *edit, i int, _ where) bool {
	rows := e.doc.Children(i)
	first := e.pick(i, 0, len(rows))
	for k := range rows {
		row := rows[(first+k)%len(rows)]
		made := e.fabricate(row)
		if !bytes.Equal(made, e.doc.Raw(row)) {
			return e.insert(i, "", made)
		}
	}
	return false
})

// fabricate returns node i with other scalars.
func (e *edit) fabricate(i int) []byte {
	part, _ := jsonedit.Parse(e.doc.Raw(i)) // a part of a document is one
	var edits []jsonedit.Edit
	for n := range part.Nodes {
		switch part.Kind(n) {
		case jsonedit.Number:
			edits = append(edits, part.Replace(n, []byte(e.otherDigits(i+n, string(part.Raw(n)), -1))))
		case jsonedit.String:
			text := part.String(n)
			if other := e.otherDigits(i+n, text, -1); other != text {
				edits = append(edits, part.Replace(n, jsonedit.Quote(other)))
			} else if a, b, two := strings.Cut(text, " "); two && !strings.Contains(b, " ") {
				edits = append(edits, part.Replace(n, jsonedit.Quote(b+" "+a)))
			}
		}
	}
	return part.Apply(edits...)
}

// otherDigits replaces the last n digits of a text, each by a drawn one that
// differs, from 1 up; n is -1 for all. Dates and exponents stay, since other
// digits would make them something else.
func (e *edit) otherDigits(i int, text string, n int) string {
	if dates.MatchString(text) {
		return text
	}
	out := []byte(text)
	end := len(out)
	if at := strings.IndexAny(text, "eE"); at >= 0 && isNumeral(strings.TrimRight(text[:at], "+-")) {
		end = at
	}
	for at := end - 1; at >= 0 && n != 0; at-- {
		if c := out[at]; c >= '0' && c <= '9' {
			turned := '1' + (c-'0'+8+byte(e.pick(i, at+8, 8)))%9 // 1 to 9
			if turned == c {
				turned = '1' + (c-'1'+1)%9
			}
			out[at] = turned
			n--
		}
	}
	return string(out)
}

// DanglingReference makes an identifier point to nothing. It replaces the last
// digits, or the last letter if there are none, so that the document has no
// such value. Without paths it draws a member with the name of a reference
// (customer_id, orderId, ref…), or else an id.
func DanglingReference(paths ...string) chaos.Fault { return danglingReferenceRow.Of(pathsIn(paths)) }

var danglingReferenceRow = row(catalog.Row{Kind: "dangling_reference",
	Doc: "An identifier refers to nothing.", Go: "lies.DanglingReference(paths...)",
	Class: chaos.ClassValue}, "identifier", func(e *edit, i int) int {
	if k := e.doc.Kind(i); k != jsonedit.Number && k != jsonedit.String {
		return 0
	}
	name := nameOf(e, i)
	switch {
	case e.addressed:
		return 1
	case !isID(name):
		return 0
	case strings.EqualFold(name, "id") || strings.EqualFold(name, "uuid"):
		return 2
	}
	return 1
}, func(e *edit, i int, _ where) bool {
	text := string(e.doc.Raw(i))
	if e.doc.Kind(i) == jsonedit.String {
		text = e.doc.String(i)
	}
	for n := 4; n < 12; n++ { // longer where that value is taken
		other := e.otherDigits(i+n, text, n)
		if other == text {
			other = otherLetters(text)
		}
		if other != text && !bytes.Contains(e.doc.Text, []byte(other)) {
			if e.doc.Kind(i) == jsonedit.String {
				return e.replace(i, jsonedit.Quote(other))
			}
			return e.replace(i, []byte(other))
		}
	}
	return false
})

// otherLetters replaces the last letter by one further on in the alphabet.
func otherLetters(text string) string {
	if text == "" {
		return text
	}
	switch c := text[len(text)-1]; {
	case 'a' <= c && c <= 'z':
		return text[:len(text)-1] + string('a'+(c-'a'+7)%26)
	case 'A' <= c && c <= 'Z':
		return text[:len(text)-1] + string('A'+(c-'A'+7)%26)
	}
	return text
}

// DuplicateRows repeats a drawn element of a list directly after itself, as an
// at-least-once feed does. Paths name lists.
func DuplicateRows(paths ...string) chaos.Fault { return duplicateRowsRow.Of(pathsIn(paths)) }

var duplicateRowsRow = row(catalog.Row{Kind: "duplicated_rows", Doc: "A list has an element twice.",
	Go: "lies.DuplicateRows(paths...)", Class: chaos.ClassValue}, "list with elements", lists(1),
	func(e *edit, i int, _ where) bool {
		rows := e.doc.Children(i)
		at := e.pick(i, 0, len(rows))
		twice := append(append(rows[:at+1:at+1], rows[at]), rows[at+1:]...)
		return e.arrange(i, twice)
	})

// ReorderRows puts the elements of a list in another order, so that at least
// two places differ. Paths name lists.
func ReorderRows(paths ...string) chaos.Fault { return reorderRowsRow.Of(pathsIn(paths)) }

var reorderRowsRow = row(catalog.Row{Kind: "reordered_rows", Doc: "A list is in another order.",
	Go:    "lies.ReorderRows(paths...)",
	Class: chaos.ClassValue}, "list with two elements that differ", lists(2), func(e *edit, i int, _ where) bool {
	return e.arrange(i, e.shuffled(i, e.doc.Children(i)))
})

// shuffled returns the nodes in a drawn order. An order that looks like the old
// one is rotated by one place.
func (e *edit) shuffled(i int, nodes []int) []int {
	out := append([]int(nil), nodes...)
	for k := len(out) - 1; k > 0; k-- {
		other := e.pick(i, 8+k, k+1)
		out[k], out[other] = out[other], out[k]
	}
	if bytes.Equal(e.doc.Arrange(i, out), e.doc.Raw(i)) {
		out = append(out[1:], out[0])
	}
	return out
}

// SwapFields exchanges two values, as a mapping does that takes billing for
// shipping. With two paths it exchanges the values that they name. Without
// paths it draws two members of one object that have one type and differ.
func SwapFields(paths ...string) chaos.Fault { return swapFieldsRow.Of(swapFields{pathsIn(paths)}) }

var swapFieldsRow = lieRow(catalog.Row{Kind: "swapped_fields", Doc: "Two values have changed places.",
	Go: "lies.SwapFields(paths...)", Class: chaos.ClassValue}, func(p swapFields) lie {
	l := lie{wants: "two members of one type",
		rank: ofKind(jsonedit.Object),
		apply: func(e *edit, i int) bool {
			pairs := pairsOf(e, e.doc.Children(i))
			if len(pairs) == 0 {
				return false
			}
			p := pairs[e.pick(i, 0, len(pairs))]
			return e.exchange(p[0], p[1])
		}}
	if len(p.Paths) > 0 {
		l.whole = func(e *edit, where []*jsonpath.Path) {
			if nodes := e.find(where); len(nodes) == 2 {
				e.exchange(nodes[0], nodes[1])
			}
		}
		l.wants = "two values, one at each of the paths,"
	}
	return l
})

type swapFields struct{ where }

func (p swapFields) Check(c *catalog.Check) {
	c.That(len(p.Paths) == 0 || len(p.Paths) == 2, "paths", fmt.Sprintf("%d of them", len(p.Paths)), "two, or none")
}

func (e *edit) exchange(i, k int) bool {
	a, b := e.doc.Raw(i), e.doc.Raw(k)
	return e.replace(i, b) && e.replace(k, a)
}

// pairsOf returns the pairs of nodes of one kind whose values differ; only
// pairs of scalars, if there are any.
func pairsOf(e *edit, nodes []int) (pairs [][2]int) {
	var deep [][2]int
	for k, a := range nodes {
		for _, b := range nodes[k+1:] {
			if e.doc.Kind(a) != e.doc.Kind(b) || bytes.Equal(e.doc.Raw(a), e.doc.Raw(b)) {
				continue
			}
			if isScalar(e.doc.Kind(a)) {
				pairs = append(pairs, [2]int{a, b})
			} else {
				deep = append(deep, [2]int{a, b})
			}
		}
		if len(pairs) > maxPairs {
			break
		}
	}
	if len(pairs) > 0 {
		return pairs
	}
	return deep
}

// maxPairs keeps the search in an object of thousands of members short.
const maxPairs = 1024

// SwapEntity exchanges the identities of two records of a list: the members by
// which records are told apart (id, name, and names such as order_id).
// Everything else stays, so that each record describes the other's subject.
// Paths name lists.
func SwapEntity(paths ...string) chaos.Fault { return swapEntityRow.Of(pathsIn(paths)) }

var swapEntityRow = row(catalog.Row{Kind: "swapped_entity",
	Doc: "A record of a list has the identifier of another one.", Go: "lies.SwapEntity(paths...)",
	Class: chaos.ClassValue}, "list with two records that differ in an identifier", lists(2),
	func(e *edit, i int, _ where) bool {
		rows := e.doc.Children(i)
		first, apart := e.pick(i, 0, len(rows)), e.pick(i, 1, len(rows)-1)
		for k := range len(rows) * len(rows) {
			a := rows[(first+k)%len(rows)]
			b := rows[(first+k+1+(apart+k/len(rows))%(len(rows)-1))%len(rows)]
			if e.exchangeIdentity(a, b) {
				return true
			}
			if k > maxPairs {
				break
			}
		}
		return false
	})

func (e *edit) exchangeIdentity(a, b int) (done bool) {
	if e.doc.Kind(a) != jsonedit.Object || e.doc.Kind(b) != jsonedit.Object {
		return false
	}
	for _, member := range e.doc.Children(a) {
		name := e.doc.Name(member)
		if !isID(name) && name != "name" && name != "title" {
			continue
		}
		if other, ok := e.doc.Member(b, name); ok && isScalar(e.doc.Kind(member)) && isScalar(e.doc.Kind(other)) {
			done = e.exchange(member, other) || done
		}
	}
	return done
}
