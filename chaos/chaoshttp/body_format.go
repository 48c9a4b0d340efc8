package chaoshttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// MalformedJSON changes one character of a JSON body so that it is no JSON any
// more; the length stays. The character is drawn from the call's coordinates,
// in the first 4 MiB. A body is not changed if it is no JSON, longer, or a
// stream of events or documents.
func MalformedJSON() chaos.Fault { return malformedJSONRow.Of(catalog.None{}) }

var malformedJSONRow = bodyRow(catalog.Row{
	Kind: "malformed_json", Doc: "One character of the body is wrong, so it is not JSON.",
	Go:    "chaoshttp.MalformedJSON()",
	Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
}, func(ctx context.Context, c chaos.Call, _ catalog.None, r Response, _ Request) Response {
	if streams(ctx, r) {
		return r
	}
	return spoil(ctx, r, r, func(s *spoiled, body io.Reader) io.Reader {
		return &lazy{open: func() io.Reader { return malformed(s, c, body) }}
	})
})

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
	return &altered{s: s, doc: doc, mark: at,
		what: []chaos.Change{{Before: text(string(before)), After: text(string(with))}}}
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
func HTMLPage() chaos.Fault { return htmlPage.Of(catalog.None{}) }

var htmlPage = &catalog.Inject[catalog.None]{
	Row: catalog.Row{
		Kind: "html_page", Doc: "The body is the error page of a gateway, with the content type of JSON.",
		Go:    "chaoshttp.HTMLPage()",
		Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, _ chaos.Call, _ catalog.None, args any, next chaos.Next) (any, error) {
		const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
			"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
		return replaceAnswer(ctx, args, next,
			func(ctx context.Context, r Response) Response { return replaced(ctx, r, []byte(page)) })
	},
}

// ErrorInOK replaces the body by an error and keeps status 200, as some
// gateways do. The error is that of the API and kind; if both are empty, a
// plain one: {"error":…}.
func ErrorInOK(api API, kind ErrorKind) chaos.Fault {
	return errorInOK.Of(bodyError{api, kind})
}

type bodyError struct {
	API   API       `json:"api,omitempty" bounds:"enum=|openai|anthropic" doc:"whose error; left out: a plain one"`
	Error ErrorKind `json:"error,omitempty" bounds:"enum=|invalid_request|context_length|content_filter|authentication|quota|permission|not_found|too_large|rate_limit|server|timeout|overloaded"`
}

var errorInOK = &catalog.Inject[bodyError]{
	Row: catalog.Row{
		Kind: "error_in_ok", Doc: "The body is an error, under status 200.",
		Go: "chaoshttp.ErrorInOK(api, kind)", Example: `{"api":"anthropic","error":"overloaded"}`,
		Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, c chaos.Call, p bodyError, args any, next chaos.Next) (any, error) {
		return replaceAnswer(ctx, args, next, func(ctx context.Context, r Response) Response {
			doc := []byte(`{"error":{"code":500,"message":"Internal server error"}}`)
			if p.API != "" {
				doc, _ = errorBody(p.API, p.Error, c, 0)
			}
			return replaced(ctx, r, doc)
		})
	},
}

func (p bodyError) Check(c *catalog.Check) {
	c.That(p.API != "" || p.Error == "", "api", p.API, "openai or anthropic, for an error of theirs")
	c.That(p.API == "" || p.Error != "", "error", p.Error, "a kind of error, for that of an API")
	checkKind(c, p.API, p.Error)
}

// replaced is a response with another body, under the content type of JSON.
func replaced(ctx context.Context, r Response, doc []byte) Response {
	c := sized(r, int64(len(doc)))
	c.StatusCode, c.Status = http.StatusOK, "200 OK"
	c.Header.Del("Content-Encoding")
	if kinds := c.Header.Values("Content-Type"); !slices.ContainsFunc(kinds,
		func(k string) bool { return strings.Contains(k, "json") }) {
		c.Header.Set("Content-Type", "application/json")
	}
	return spoil(ctx, r, c, func(s *spoiled, _ io.Reader) io.Reader {
		return &altered{s: s, doc: doc, what: []chaos.Change{{After: text(string(doc))}}}
	})
}

// OnBody lets a fault of results change the JSON body of the response, as those of
// package chaos/lies do. A fault calls it with the call and the arguments that it was
// given, to act on a document within a response: f gets the body as its result. The
// result replaces the response. A body is not changed if it is no JSON, longer than 4
// MiB, or a stream of events or documents.
//
// If the response has a length, f runs before the caller has the header, whose
// length is then that of the changed body. Otherwise f runs when the body is
// read. The call ends with the body, and f is delivered once the caller has
// read the first byte that differs.
//
// With other faults on the same body, f may run once more when the client is done, on what
// the body would have been without them, to find out what the client saw of it. That is
// left out if f is [chaos.Stateful].
func (r Response) OnBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) (any, error) {
	next := func(context.Context, any) (any, error) { return r, nil }
	return alterAnswer(ctx, args, next, false, func(ctx context.Context, r Response, of Request) Response {
		return r.onBody(ctx, c, of, f)
	})
}

func (r Response) onBody(ctx context.Context, c chaos.Call, args any, f chaos.Fault) Response {
	if streams(ctx, r) {
		return r
	}
	return revise(ctx, r, mostJSON, notJSON, func(ctx context.Context, doc []byte) (revision, error) {
		if !json.Valid(doc) {
			chaos.Note(ctx, notJSON)
			return revision{doc: doc}, nil
		}
		if again := rehearsalOf(ctx); again != nil {
			if _, ok := f.(chaos.Stateful); ok {
				return revision{}, again.stuck() // what it remembers must not change
			}
		}
		held, changes := chaos.Withhold(ctx)
		result, err := f.Inject(held, c, args, func(context.Context, any) (any, error) {
			return json.RawMessage(bytes.Clone(doc)), nil
		})
		if err != nil {
			return revision{}, err
		}
		raw, ok := result.(json.RawMessage)
		if !ok {
			if raw, err = json.Marshal(result); err != nil {
				chaos.Note(ctx, "the fault made a result that has no JSON: "+err.Error())
				return revision{doc: doc}, nil
			}
		}
		return revision{doc: raw, what: changes()}, nil
	})
}
