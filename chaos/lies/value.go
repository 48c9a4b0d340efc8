package lies

import (
	"regexp"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

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

var shiftDateRow = row(catalog.Row{
	Kind: "shifted_date", Doc: "A date is moved by some days.",
	Go: "lies.ShiftDate(days, paths...)", Example: `{"days":1}`, Class: chaos.ClassValue,
}, func(p shiftDate) lie {
	return lie{
		wants: "date of the form 2006-01-02",
		rank: func(e *edit, i int) int {
			if hasDate(e, i) {
				return 1
			}
			return 0
		},
		apply: func(e *edit, i int) bool {
			text := e.doc.String(i)
			spans := dates.FindAllStringIndex(text, -1)
			first := e.pick(i, 0, len(spans))
			for k := range spans {
				at := spans[(first+k)%len(spans)][0]
				const form = time.DateOnly
				day, err := time.Parse(form, text[at:at+len(form)])
				if day = day.AddDate(0, 0, p.Days); err != nil || day.Year() < 0 || day.Year() > 9999 {
					continue
				}
				return e.replace(i, jsonedit.Quote(text[:at]+day.Format(form)+text[at+len(form):]))
			}
			return false
		}}
})

type shiftDate struct {
	Days int `json:"days" bounds:"min=-365250,max=365250" allowed:"from -365250 to 365250, not 0" doc:"by which the date is moved; not 0"`
	where
}

func (p shiftDate) Check(c *catalog.Check) {
	c.That(p.Days != 0, "days", p.Days, "from -365250 to 365250, not 0")
	p.where.Check(c)
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

var flipTypeRow = lieRow[where](catalog.Row{
	Kind: "flipped_type", Doc: "A number becomes a text, or a text a number.",
	Go: "lies.FlipType(paths...)", Class: chaos.ClassValue,
}, lie{wants: "number, boolean or text",
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
	}})

// listOf is a list with one element.
func listOf(raw []byte) []byte {
	list := append(make([]byte, 0, len(raw)+2), '[')
	return append(append(list, raw...), ']')
}
