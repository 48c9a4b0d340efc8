package lies

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Empty makes a value empty: {} of an object, [] of a list, "" of a text, 0
// of a number, false. Without paths it is the whole result.
func Empty(paths ...string) chaos.Fault { return emptyRow.Of(pathsIn(paths)) }

var emptyRow = lieRow[where](catalog.Row{
	Kind: "empty_result", Doc: "A value is empty.", Go: "lies.Empty(paths...)", Class: chaos.ClassOmission,
}, lie{wants: "value", rank: anything,
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
	}})

// Null replaces a value by null. Without paths it is the whole result.
func Null(paths ...string) chaos.Fault { return nullRow.Of(pathsIn(paths)) }

var nullRow = lieRow[where](catalog.Row{
	Kind: "null_value", Doc: "A value is null.", Go: "lies.Null(paths...)", Class: chaos.ClassOmission,
}, lie{wants: "value", rank: anything,
	apply: func(e *edit, i int) bool { return e.replace(i, []byte("null")) }})

// Missing removes a member from its object: a drawn one, or the values that the
// paths name, which may be elements of lists. [RemoveKey] removes it from all
// objects.
func Missing(paths ...string) chaos.Fault { return missingRow.Of(pathsIn(paths)) }

var missingRow = lieRow[where](catalog.Row{
	Kind: "missing_field", Doc: "A member of an object is missing.",
	Go: "lies.Missing(paths...)", Class: chaos.ClassOmission,
}, lie{wants: "member", rank: members,
	apply: func(e *edit, i int) bool { return e.remove(i) }})

// CutText keeps the first share of the characters of a text, from 0 to below 1.
func CutText(keep float64, paths ...string) chaos.Fault {
	return cutTextRow.Of(kept{keep, pathsIn(paths)})
}

var cutTextRow = row(catalog.Row{
	Kind: "cut_text", Doc: "A text is cut.",
	Go: "lies.CutText(keep, paths...)", Example: `{"keep":0.5}`, Class: chaos.ClassOmission,
}, func(p kept) lie {
	return lie{wants: "text", rank: prose,
		apply: func(e *edit, i int) bool {
			text := []rune(e.doc.String(i))
			kept := int(float64(len(text)) * p.Keep)
			return kept < len(text) && e.replace(i, cutQuote(e, i, kept))
		}}
})

type kept struct {
	Keep float64 `json:"keep" bounds:"min=0" allowed:"a share from 0 to below 1" doc:"share that is kept, below 1"`
	where
}

func (p kept) Check(c *catalog.Check) {
	c.That(!(p.Keep >= 1), "keep", p.Keep, "a share from 0 to below 1")
	p.where.Check(c)
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
	return cutListRow.Of(kept{keep, pathsIn(paths)})
}

var cutListRow = row(catalog.Row{
	Kind: "cut_list", Doc: "A list is cut.",
	Go: "lies.CutList(keep, paths...)", Example: `{"keep":0.5}`, Class: chaos.ClassOmission,
}, func(p kept) lie {
	return lie{wants: "list with elements", rank: lists(1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			return e.arrange(i, rows[:int(float64(len(rows))*p.Keep)])
		}}
})

// MissingPage removes a drawn page of size elements from a list of more than
// one page. Counts and links to further pages stay as they are. size is 1 or
// more.
func MissingPage(size int, paths ...string) chaos.Fault {
	return missingPageRow.Of(missingPage{pathsIn(paths), size})
}

var missingPageRow = row(catalog.Row{
	Kind: "missing_page", Doc: "A page of a list is missing.",
	Go: "lies.MissingPage(size, paths...)", Example: `{"size":2}`, Class: chaos.ClassOmission,
}, func(p missingPage) lie {
	return lie{wants: "list of more than one page", rank: lists(p.Size + 1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			from := e.pick(i, 0, (len(rows)+p.Size-1)/p.Size) * p.Size
			kept := append(rows[:from:from], rows[min(from+p.Size, len(rows)):]...)
			return e.arrange(i, kept)
		}}
})

type missingPage struct {
	where
	Size int `json:"size" bounds:"min=1" doc:"elements on a page"`
}

// PartialBatch removes each element of a list with probability lost, from above
// 0 to 1, and at least one: a batch of which some parts were dropped silently.
func PartialBatch(lost float64, paths ...string) chaos.Fault {
	return partialBatchRow.Of(partialBatch{lost, pathsIn(paths)})
}

var partialBatchRow = row(catalog.Row{
	Kind: "partial_batch", Doc: "Some elements of a list are missing.",
	Go: "lies.PartialBatch(lost, paths...)", Example: `{"lost":0.3}`, Class: chaos.ClassOmission,
}, func(p partialBatch) lie {
	return lie{wants: "list with elements", rank: lists(1),
		apply: func(e *edit, i int) bool {
			rows := e.doc.Children(i)
			must := e.pick(i, 0, len(rows))
			var gone []int
			for k, row := range rows {
				if k == must || e.draw(row, 1) < p.Lost {
					gone = append(gone, row)
				}
			}
			return e.remove(gone...)
		}}
})

type partialBatch struct {
	Lost float64 `json:"lost" bounds:"over=0,max=1" allowed:"a share above 0, up to 1" doc:"share that is lost"`
	where
}
