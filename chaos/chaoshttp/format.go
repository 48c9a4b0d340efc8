package chaoshttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// MalformedJSON changes one character of a JSON body so that it is no JSON any
// more; the length stays. The character is drawn from the call's coordinates,
// in the first 4 MiB. A body is not changed if it is no JSON, longer, or a
// stream of events or documents.
func MalformedJSON() chaos.Fault {
	return change{
		d: spoils("malformed_json", chaos.ClassProtocol, chaos.Implicit, nil),
		apply: func(ctx context.Context, c chaos.Call, r Response, _ Request) (Response, error) {
			if streams(ctx, r) {
				return r, nil
			}
			return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
				return &lazy{open: func() io.Reader { return malformed(s, c, body) }}
			}), nil
		},
	}
}

// drawPlace is the salt of the draw: ASCII for "place".
const drawPlace = 0x706c616365

// mostJSON is how much of a body is held in memory to be spoiled.
const mostJSON = 4 << 20

// malformed reads the document when it is read itself.
func malformed(s *spoiled, c chaos.Call, body io.Reader) io.Reader {
	doc, rest, ok := jsonIn(s.ctx, body, mostJSON)
	if !ok {
		return io.MultiReader(bytes.NewReader(doc), rest)
	}
	at, with := misprint(doc, c.Draw(drawPlace))
	before := doc[at]
	doc[at] = with
	return &altered{s: s, doc: doc, mark: at, what: []chaos.Change{{Before: text(string(before)), After: text(string(with))}}}
}

// misprint chooses a character between values, and another for it; in a
// document without any, the first. The document is JSON, so it is not empty.
func misprint(doc []byte, draw float64) (at int, with byte) {
	var places []int
	inString, escaped := false, false
	for i, b := range doc {
		switch {
		case escaped:
			escaped = false
		case inString && b == '\\':
			escaped = true
		case b == '"':
			inString = !inString
		case !inString && strings.IndexByte(":,]}", b) >= 0:
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return bytes.IndexFunc(doc, func(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) }), '\''
	}
	at = places[int(draw*float64(len(places)))]
	switch doc[at] {
	case ':':
		return at, '='
	case ',':
		return at, ';'
	case ']':
		return at, '}'
	}
	return at, ']'
}

// lazy opens its reader at the first Read.
type lazy struct {
	open func() io.Reader
	r    io.Reader
}

func (l *lazy) Read(p []byte) (int, error) {
	return l.now().Read(p)
}

// now opens the reader, once.
func (l *lazy) now() io.Reader {
	if l.r == nil {
		l.r = l.open()
	}
	return l.r
}

// HTMLPage replaces the body by the page of a gateway, under status 200 and the
// content type of JSON.
func HTMLPage() chaos.Fault {
	const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n" +
		"<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	return change{
		d:    spoils("html_page", chaos.ClassProtocol, chaos.Implicit, nil),
		anew: true,
		apply: func(ctx context.Context, _ chaos.Call, r Response, _ Request) (Response, error) {
			return replaced(ctx, r, []byte(page)), nil
		},
	}
}

// ErrorInOK replaces the body by an error and keeps status 200, as some
// gateways do. The error is that of the API and kind; if both are empty, a
// plain one: {"error":…}.
func ErrorInOK(api API, kind ErrorKind) chaos.Fault {
	return change{
		d: spoils("error_in_ok", chaos.ClassProtocol, chaos.Implicit, struct {
			API   API       `json:"api,omitempty"`
			Error ErrorKind `json:"error,omitempty"`
		}{api, kind}),
		check: func(c *param.Check) {
			if api != "" || kind != "" {
				status{api: api, as: kind}.checkAPI(c)
			}
		},
		anew: true,
		apply: func(ctx context.Context, c chaos.Call, r Response, _ Request) (Response, error) {
			doc := []byte(`{"error":{"code":500,"message":"Internal server error"}}`)
			if api != "" {
				_, model, _ := strings.Cut(c.Target, "#")
				doc, _ = errorBody(api, kind, model, requestID(c))
			}
			return replaced(ctx, r, doc), nil
		},
	}
}

// replaced is a response with another body, under the content type of JSON.
func replaced(ctx context.Context, r Response, doc []byte) Response {
	c := sized(r, int64(len(doc)))
	c.StatusCode, c.Status = http.StatusOK, "200 OK"
	c.Header.Del("Content-Encoding")
	if kinds := c.Header.Values("Content-Type"); !slices.ContainsFunc(kinds, func(k string) bool { return strings.Contains(k, "json") }) {
		c.Header.Set("Content-Type", "application/json")
	}
	return spoil(ctx, r, c, func(s *spoiled, _ io.Reader) io.Reader {
		return &altered{s: s, doc: doc, what: []chaos.Change{{After: text(string(doc))}}}
	})
}
