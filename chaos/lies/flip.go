package lies

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// FlipType writes the same value in another type: 42 as "42", "42" as 42, true
// as "true", a text as the only element of a list. Without paths it draws a
// number, boolean or numeric text, or else a text. For null, lists and objects
// there is [Retype].
func FlipType(paths ...string) chaos.Fault {
	return lie{kind: "flipped_type", class: chaos.ClassValue, wants: "number, boolean or text",
		rank: func(e *edit, i int) int {
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
		},
		apply: func(e *edit, i int) bool {
			before := e.doc.Raw(i)
			if e.doc.Kind(i) != jsonedit.String {
				return e.replace(i, jsonedit.Quote(string(before)))
			}
			if text := e.doc.String(i); isNumeral(text) {
				return e.replace(i, []byte(text))
			}
			return e.replace(i, listOf(before))
		}}.at(paths)
}

// listOf is a list with one element.
func listOf(raw []byte) []byte {
	list := append(make([]byte, 0, len(raw)+2), '[')
	return append(append(list, raw...), ']')
}
