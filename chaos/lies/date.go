package lies

import (
	"regexp"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
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
	return lie{kind: "shifted_date", class: chaos.ClassValue, params: map[string]any{"days": days},
		check: func(c *param.Check) {
			c.That(days != 0 && days >= -365250 && days <= 365250, "days", days, "from -365250 to 365250, not 0")
		},
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
				if day = day.AddDate(0, 0, days); err != nil || day.Year() < 0 || day.Year() > 9999 {
					continue
				}
				return e.replace(i, jsonedit.Quote(text[:at]+day.Format(form)+text[at+len(form):]))
			}
			return false
		}}.at(paths)
}

// hasDate decodes the text first: an escape before a date would hide it.
func hasDate(e *edit, i int) bool {
	return e.doc.Kind(i) == jsonedit.String && hasDigit(e.doc.Raw(i)) && dates.MatchString(e.doc.String(i))
}
