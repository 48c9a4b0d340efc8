package lies

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Empty makes a value empty: {} of an object, [] of a list, "" of a text, 0
// of a number, false. Without paths it is the whole result.
func Empty(paths ...string) chaos.Fault { return emptyRow.Of(pathsIn(paths)) }

var emptyRow = row(catalog.Row{Kind: "empty_result", Doc: "A value is empty.", Go: "lies.Empty(paths...)",
	Class: chaos.ClassOmission}, "value", all(isMeant), func(e *edit, i int, _ where) bool {
	empty, ok := map[jsonedit.Kind]string{jsonedit.Object: "{}", jsonedit.Array: "[]", jsonedit.String: `""`,
		jsonedit.Number: "0", jsonedit.Bool: "false"}[e.doc.Kind(i)]
	return ok && e.replace(i, []byte(empty))
})

// Null replaces a value by null. Without paths it is the whole result.
func Null(paths ...string) chaos.Fault { return nullRow.Of(pathsIn(paths)) }

var nullRow = row(catalog.Row{Kind: "null_value", Doc: "A value is null.", Go: "lies.Null(paths...)",
	Class: chaos.ClassOmission}, "value", all(isMeant),
	func(e *edit, i int, _ where) bool { return e.replace(i, []byte("null")) })

// Missing removes a member from its object: a drawn one, or the values that the
// paths name, which may be elements of lists. [RemoveKey] removes it from all
// objects.
func Missing(paths ...string) chaos.Fault { return missingRow.Of(pathsIn(paths)) }

var missingRow = row(catalog.Row{Kind: "missing_field", Doc: "A member of an object is missing.",
	Go: "lies.Missing(paths...)", Class: chaos.ClassOmission}, "member", all(isMember),
	func(e *edit, i int, _ where) bool { return e.remove(i) })

// CutText keeps the first share of the characters of a text, from 0 to below 1.
func CutText(keep float64, paths ...string) chaos.Fault {
	return cutTextRow.Of(kept{keep, pathsIn(paths)})
}

var cutTextRow = row(catalog.Row{Kind: "cut_text", Doc: "A text is cut.", Go: "lies.CutText(keep, paths...)",
	Example: `{"keep":0.5}`, Class: chaos.ClassOmission}, "text", prose, func(e *edit, i int, p kept) bool {
	text := e.doc.String(i)
	kept := int(float64(utf8.RuneCountInString(text)) * p.Keep)
	for at := range text { // a slice of runes would lose the bytes that are not UTF-8
		if kept == 0 {
			return e.replace(i, jsonedit.Quote(text[:at]))
		}
		kept--
	}
	return false
})

type kept struct {
	Keep float64 `json:"keep" bounds:"min=0" allowed:"a share from 0 to below 1" doc:"share that is kept, below 1"`
	where
}

func (p kept) Check(c *catalog.Check) {
	c.That(!(p.Keep >= 1), "keep", p.Keep, "a share from 0 to below 1")
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

var cutListRow = row(catalog.Row{Kind: "cut_list", Doc: "A list is cut.", Go: "lies.CutList(keep, paths...)",
	Example: `{"keep":0.5}`, Class: chaos.ClassOmission}, "list with elements", lists(1),
	func(e *edit, i int, p kept) bool {
		rows := e.doc.Children(i)
		return e.arrange(i, rows[:int(float64(len(rows))*p.Keep)])
	})

// MissingPage removes a drawn page of size elements from a list of more than
// one page. Counts and links to further pages stay as they are. size is 1 or
// more.
func MissingPage(size int, paths ...string) chaos.Fault {
	return missingPageRow.Of(missingPage{pathsIn(paths), size})
}

var missingPageRow = lieRow(catalog.Row{Kind: "missing_page", Doc: "A page of a list is missing.",
	Go: "lies.MissingPage(size, paths...)", Example: `{"size":2}`,
	Class: chaos.ClassOmission}, func(p missingPage) lie {
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

var partialBatchRow = row(catalog.Row{Kind: "partial_batch", Doc: "Some elements of a list are missing.",
	Go: "lies.PartialBatch(lost, paths...)", Example: `{"lost":0.3}`,
	Class: chaos.ClassOmission}, "list with elements", lists(1), func(e *edit, i int, p partialBatch) bool {
	rows := e.doc.Children(i)
	must := e.pick(i, 0, len(rows))
	var gone []int
	for k, row := range rows {
		if k == must || e.draw(row, 1) < p.Lost {
			gone = append(gone, row)
		}
	}
	return e.remove(gone...)
})

type partialBatch struct {
	Lost float64 `json:"lost" bounds:"over=0,max=1" allowed:"a share above 0, up to 1" doc:"share that is lost"`
	where
}

// Malformed breaks the JSON of a result in a drawn way: cut off, a comma too
// many, a missing quote, a missing bracket, trailing text. A text that is no
// JSON, and a Go value, cannot be malformed: the fault is not delivered there.
func Malformed() chaos.Fault { return malformedRow.Of(catalog.None{}) }

var malformedRow = row(catalog.Row{Kind: "malformed_result", Doc: "The result is no longer JSON.",
	Go: "lies.Malformed()", Class: chaos.ClassProtocol}, "JSON", all(isMeant), func(e *edit, i int, _ catalog.None) bool {
	if e.plain {
		e.why = "the result is a text and no JSON"
		return false
	}
	text := strings.TrimRight(string(e.doc.Text), " \t\r\n")
	broken := []string{
		text[:len(text)-1-e.pick(i, 1, max(1, len(text)/2))],
		strings.TrimRight(text, "]}\"") + ",",
		strings.Replace(text, `"`, "", 1),
		text + text[:min(len(text), 12)],
		text[:len(text)-1],
	}
	first := e.pick(i, 0, len(broken))
	for k := range broken {
		if b := broken[(first+k)%len(broken)]; b != "" && !json.Valid([]byte(b)) {
			return e.replaceAll([]byte(b))
		}
	}
	return false
})

// errorPage is what proxies answer with.
const errorPage = `<html>
<head><title>502 Bad Gateway</title></head>
<body>
<center><h1>502 Bad Gateway</h1></center>
<hr><center>nginx</center>
</body>
</html>
`

// HTMLPage replaces the result by the error page of a proxy. A text, also one
// in JSON, becomes that text; other JSON becomes the bare page, which is no
// JSON.
func HTMLPage() chaos.Fault { return htmlPageRow.Of(catalog.None{}) }

var htmlPageRow = row(catalog.Row{Kind: "html_result", Doc: "The result is the error page of a proxy.",
	Go: "lies.HTMLPage()", Class: chaos.ClassProtocol}, "value", all(isMeant), func(e *edit, i int, _ catalog.None) bool {
	if e.doc.Kind(0) == jsonedit.String {
		return e.replaceAll(jsonedit.Quote(errorPage))
	}
	return e.replaceAll([]byte(errorPage))
})

// ErrorBody replaces the result by an error message while the call itself
// succeeds: {"error":{"code":503,"message":"Service Unavailable"}}. A text
// becomes "Error 503: Service Unavailable". The code is from 400 to 599.
func ErrorBody(code int, message string) chaos.Fault {
	return errorBodyRow.Of(errorBody{Code: code, Message: message})
}

var errorBodyRow = row(catalog.Row{Kind: "error_result", Doc: "The call succeeds with an error as its result.",
	Go: "lies.ErrorBody(code, message)", Example: `{"code":503,"message":"Service Unavailable"}`,
	Class: chaos.ClassProtocol}, "value", all(isMeant), func(e *edit, _ int, p errorBody) bool {
	if e.doc.Kind(0) == jsonedit.String {
		return e.replaceAll(jsonedit.Quote(fmt.Sprintf("Error %d: %s", p.Code, p.Message)))
	}
	return e.replaceAll(fmt.Appendf(nil, `{"error":{"code":%d,"message":%s}}`, p.Code,
		jsonedit.Quote(p.Message)))
})

type errorBody struct {
	Code    int    `json:"code" bounds:"min=400,max=599" doc:"status that the body tells"`
	Message string `json:"message" doc:"its text"`
}

func (p errorBody) Check(c *catalog.Check) {
	c.That(strings.TrimSpace(p.Message) != "", "message", fmt.Sprintf("%q", p.Message), "a text")
}

// Mojibake writes the characters of a text beyond ASCII as UTF-8 looks when it
// is read as Latin-1: "Zürich" becomes "ZÃ¼rich". The result is well-formed.
func Mojibake(paths ...string) chaos.Fault { return mojibakeRow.Of(pathsIn(paths)) }

var mojibakeRow = row(catalog.Row{Kind: "mojibake", Doc: "A text was read in the wrong encoding.",
	Go: "lies.Mojibake(paths...)", Class: chaos.ClassProtocol}, "text beyond ASCII",
	all(func(e *edit, i int) bool { return e.doc.Kind(i) == jsonedit.String && !isASCII(e.doc.String(i)) }),
	func(e *edit, i int, _ where) bool {
		text := e.doc.String(i)
		if !utf8.ValidString(text) {
			return false
		}
		var b strings.Builder
		for k := range len(text) {
			b.WriteRune(rune(text[k]))
		}
		return e.replace(i, jsonedit.Quote(b.String()))
	})

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Oversized repeats a text until it has the given number of bytes, up to 64 MiB:
// a result larger than a context window, or than a buffer. If the result has no
// text, an object gets a member "padding".
func Oversized(bytes int, paths ...string) chaos.Fault {
	return oversizedRow.Of(oversized{bytes, pathsIn(paths)})
}

var oversizedRow = row(catalog.Row{Kind: "oversized_result", Doc: "A text is very long.",
	Go: "lies.Oversized(bytes, paths...)", Example: `{"bytes":4096}`,
	Class: chaos.ClassProtocol}, "text or object that could grow", func(e *edit, i int) int {
	if e.doc.Kind(i) == jsonedit.Object {
		return maxRank
	}
	return prose(e, i)
}, func(e *edit, i int, p oversized) bool {
	if e.doc.Kind(i) == jsonedit.Object {
		return e.insert(i, "padding", jsonedit.Quote(grown("-", p.Bytes)))
	}
	text := e.doc.String(i)
	return text != "" && len(text) < p.Bytes && e.replace(i, jsonedit.Quote(grown(text+" ", p.Bytes)))
})

// The upper bound, 64 MiB, is one of what a call costs in memory.
type oversized struct {
	Bytes int `json:"bytes" bounds:"min=1,max=67108864" doc:"length that the text is brought to"`
	where
}

// grown repeats text up to about n bytes and a whole character.
func grown(text string, n int) string {
	long := strings.Repeat(text, n/len(text)+1)
	for n < len(long) && !utf8.RuneStart(long[n]) {
		n++
	}
	return long[:n]
}
