package lies

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

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

var swapUnitRow = lieRow[where](catalog.Row{
	Kind: "swapped_unit", Doc: "A unit or currency is replaced by another one.",
	Go: "lies.SwapUnit(paths...)", Class: chaos.ClassValue,
}, lie{wants: "unit or currency",
	rank: func(e *edit, i int) int {
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
	},
	apply: func(e *edit, i int) bool {
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
	}})

func groupOf(unit string) (group []string, ok bool) {
	for _, group := range units {
		if slices.Contains(group, unit) {
			return group, true
		}
	}
	return nil, false
}

// isCurrency reports whether a unit may also stand before its number.
func isCurrency(unit string) bool {
	return slices.ContainsFunc(units[:3], func(group []string) bool { return slices.Contains(group, unit) })
}

// another draws a unit of the group that is not the given one.
func another(e *edit, i int, group []string, unit string) string {
	at := slices.Index(group, unit)
	return group[(at+1+e.pick(i, 0, len(group)-1))%len(group)]
}

// unitIn finds a unit before or after a number of the text, with or without a
// space between. If there is none, from and to are equal.
func unitIn(text string) (from, to int) {
	for at := range len(text) {
		if c := text[at]; c < '0' || c > '9' {
			continue
		}
		before, after := text[:at], text[at+1:]
		if before != "" && strings.IndexByte("0123456789.,", before[len(before)-1]) < 0 {
			word := before[strings.LastIndexAny(strings.TrimRight(before, " "), " (")+1:]
			unit := strings.TrimRight(word, " ")
			if isCurrency(unit) {
				return len(before) - len(word), len(before) - len(word) + len(unit)
			}
		}
		if after == "" || strings.IndexByte("0123456789.,", after[0]) < 0 {
			rest := strings.TrimLeft(after, " ")
			unit := rest
			if end := strings.IndexAny(rest, " ,;)."); end >= 0 {
				unit = rest[:end]
			}
			if _, ok := groupOf(unit); ok {
				start := len(text) - len(rest)
				return start, start + len(unit)
			}
		}
	}
	return 0, 0
}
