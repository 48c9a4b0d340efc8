package lies

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Empty makes a value empty: {} of an object, [] of a list, "" of a text, 0
// of a number, false. Without paths it is the whole result.
func Empty(paths ...string) chaos.Fault {
	return lie{kind: "empty_result", class: chaos.ClassOmission, wants: "value", rank: anything,
		apply: func(e *edit, i int) bool {
			switch e.doc.Kind(i) {
			case jsonedit.Object:
				return len(e.doc.Children(i)) > 0 && e.replace(i, []byte("{}"))
			case jsonedit.Array:
				return len(e.doc.Children(i)) > 0 && e.replace(i, []byte("[]"))
			case jsonedit.String:
				return e.replace(i, []byte(`""`))
			case jsonedit.Number:
				n, ok := parseDecimal(string(e.doc.Raw(i)))
				return (!ok || n.unscaled.Sign() != 0) && e.replace(i, []byte("0"))
			case jsonedit.Bool:
				return e.replace(i, []byte("false"))
			}
			return false
		}}.at(paths)
}

// Null replaces a value by null. Without paths it is the whole result.
func Null(paths ...string) chaos.Fault {
	return lie{kind: "null_value", class: chaos.ClassOmission, wants: "value", rank: anything,
		apply: func(e *edit, i int) bool { return e.replace(i, []byte("null")) }}.at(paths)
}

// Missing removes a member from its object: a drawn one, or the values that the
// paths name, which may be elements of lists. [RemoveKey] removes it from all
// objects.
func Missing(paths ...string) chaos.Fault {
	return lie{kind: "missing_field", class: chaos.ClassOmission, wants: "member", rank: members,
		apply: func(e *edit, i int) bool { return e.remove(i) }}.at(paths)
}

// CutText keeps the first share of the characters of a text, from 0 to below 1.
func CutText(keep float64, paths ...string) chaos.Fault {
	return lie{kind: "cut_text", class: chaos.ClassOmission, params: map[string]any{"keep": keep}, check: share("keep", keep),
		wants: "text", rank: prose,
		apply: func(e *edit, i int) bool {
			text := []rune(e.doc.String(i))
			kept := int(float64(len(text)) * keep)
			return kept < len(text) && e.replace(i, cutQuote(e, i, kept))
		}}.at(paths)
}

// cutQuote is the text at node i up to a character. It keeps the bytes of the
// rest as they are, also those that are not UTF-8.
func cutQuote(e *edit, i, runes int) []byte {
	text := e.doc.String(i)
	for at := range text {
		if runes == 0 {
			return jsonedit.Quote(text[:at])
		}
		runes--
	}
	return jsonedit.Quote(text)
}

// prose ranks texts: those of several words first, identifiers never.
func prose(e *edit, i int) int {
	switch {
	case e.doc.Kind(i) != jsonedit.String:
		return 0
	case e.addressed:
		return 1
	case isID(nameOf(e, i)):
		return 0
	case slices.Contains(e.doc.Raw(i), ' '):
		return 1
	}
	return 2
}

// CutList keeps the first share of the elements of a list, from 0 to below 1,
// as an undocumented limit does. At least one element is lost.
func CutList(keep float64, paths ...string) chaos.Fault {
	return lie{kind: "cut_list", class: chaos.ClassOmission, params: map[string]any{"keep": keep}, check: share("keep", keep),
		wants: "list with elements", rank: lists(1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			return e.arrange(i, rows[:int(float64(len(rows))*keep)])
		}}.at(paths)
}

// MissingPage removes a drawn page of size elements from a list of more than
// one page. Counts and links to further pages stay as they are. size is 1 or
// more.
func MissingPage(size int, paths ...string) chaos.Fault {
	return lie{kind: "missing_page", class: chaos.ClassOmission, params: map[string]any{"size": size},
		check: func(c *param.Check) { c.That(size > 0, "size", size, "1 or more") },
		wants: "list of more than one page", rank: lists(size + 1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			from := e.pick(i, 0, (len(rows)+size-1)/size) * size
			kept := append(rows[:from:from], rows[min(from+size, len(rows)):]...)
			return e.arrange(i, kept)
		}}.at(paths)
}

// PartialBatch removes each element of a list with probability lost, from above
// 0 to 1, and at least one: a batch of which some parts were dropped silently.
func PartialBatch(lost float64, paths ...string) chaos.Fault {
	return lie{kind: "partial_batch", class: chaos.ClassOmission, params: map[string]any{"lost": lost},
		check: func(c *param.Check) { c.That(lost > 0 && lost <= 1, "lost", lost, "a share above 0, up to 1") },
		wants: "list with elements", rank: lists(1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			must := e.pick(i, 0, len(rows))
			var gone []int
			for k, row := range rows {
				if k == must || e.draw(row, 1) < lost {
					gone = append(gone, row)
				}
			}
			return e.remove(gone...)
		}}.at(paths)
}

// share checks the share that is kept of something that must lose a part.
func share(name string, v float64) func(*param.Check) {
	return func(c *param.Check) { c.That(v >= 0 && v < 1, name, v, "a share from 0 to below 1") }
}
