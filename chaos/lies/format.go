package lies

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Malformed breaks the JSON of a result in a drawn way: cut off, a comma too
// many, a missing quote, a missing bracket, trailing text. A text that is no
// JSON, and a Go value, cannot be malformed: the fault is not delivered there.
func Malformed() chaos.Fault { return malformedRow.Of(catalog.None{}) }

var malformedRow = lieRow[catalog.None](catalog.Row{
	Kind: "malformed_result", Doc: "The result is no longer JSON.", Go: "lies.Malformed()", Class: chaos.ClassProtocol,
}, lie{wants: "JSON", rank: anything,
	apply: func(e *edit, i int) bool {
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
	}})

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

var htmlPageRow = lieRow[catalog.None](catalog.Row{
	Kind: "html_result", Doc: "The result is the error page of a proxy.",
	Go: "lies.HTMLPage()", Class: chaos.ClassProtocol,
}, lie{wants: "value", rank: anything,
	apply: func(e *edit, i int) bool {
		if e.doc.Kind(0) == jsonedit.String {
			return e.replaceAll(jsonedit.Quote(errorPage))
		}
		return e.replaceAll([]byte(errorPage))
	}})

// ErrorBody replaces the result by an error message while the call itself
// succeeds: {"error":{"code":503,"message":"Service Unavailable"}}. A text
// becomes "Error 503: Service Unavailable". The code is from 400 to 599.
func ErrorBody(code int, message string) chaos.Fault {
	return errorBodyRow.Of(errorBody{Code: code, Message: message})
}

var errorBodyRow = row(catalog.Row{
	Kind: "error_result", Doc: "The call succeeds with an error as its result.",
	Go: "lies.ErrorBody(code, message)", Example: `{"code":503,"message":"Service Unavailable"}`,
	Class: chaos.ClassProtocol,
}, func(p errorBody) lie {
	return lie{wants: "value", rank: anything,
		apply: func(e *edit, _ int) bool {
			if e.doc.Kind(0) == jsonedit.String {
				return e.replaceAll(jsonedit.Quote(fmt.Sprintf("Error %d: %s", p.Code, p.Message)))
			}
			return e.replaceAll(fmt.Appendf(nil, `{"error":{"code":%d,"message":%s}}`, p.Code,
				jsonedit.Quote(p.Message)))
		}}
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

var mojibakeRow = lieRow[where](catalog.Row{
	Kind: "mojibake", Doc: "A text was read in the wrong encoding.",
	Go: "lies.Mojibake(paths...)", Class: chaos.ClassProtocol,
}, lie{wants: "text beyond ASCII",
	rank: func(e *edit, i int) int {
		if e.doc.Kind(i) == jsonedit.String && !isASCII(e.doc.String(i)) {
			return 1
		}
		return 0
	},
	apply: func(e *edit, i int) bool {
		text := e.doc.String(i)
		if !utf8.ValidString(text) {
			return false
		}
		var b strings.Builder
		for k := range len(text) {
			b.WriteRune(rune(text[k]))
		}
		return e.replace(i, jsonedit.Quote(b.String()))
	}})

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Oversized repeats a text until it has the given number of bytes, up to 64 MiB:
// a result larger than a context window, or than a buffer. If the result has no
// text, an object gets a member "padding".
func Oversized(bytes int, paths ...string) chaos.Fault {
	return oversizedRow.Of(oversized{bytes, pathsIn(paths)})
}

var oversizedRow = row(catalog.Row{
	Kind: "oversized_result", Doc: "A text is very long.",
	Go: "lies.Oversized(bytes, paths...)", Example: `{"bytes":4096}`, Class: chaos.ClassProtocol,
}, func(p oversized) lie {
	return lie{
		wants: "text or object that could grow",
		rank: func(e *edit, i int) int {
			if e.doc.Kind(i) == jsonedit.Object {
				return maxRank
			}
			return prose(e, i)
		},
		apply: func(e *edit, i int) bool {
			if e.doc.Kind(i) == jsonedit.Object {
				return e.insert(i, "padding", jsonedit.Quote(grown("-", p.Bytes)))
			}
			text := e.doc.String(i)
			return text != "" && len(text) < p.Bytes && e.replace(i, jsonedit.Quote(grown(text+" ", p.Bytes)))
		}}
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
