package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/sse"
)

const (
	format  = "shakedown/cassette"
	version = 1
)

const fields = fielderror.Package("cassette")

// Bytes returns the file as it is kept: the same File gives the same bytes, and Read
// gives back an equal File. It sorts the exchanges first. Answers that differ in
// nothing are written once, requests that only go on where an earlier one ended by
// what they add. An error says which of the limits the file exceeds.
func (f *File) Bytes() ([]byte, error) {
	f.Sort()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"format": %q, "version": %d, "exchanges": [`, format, version)
	if len(f.Exchanges) > MaxExchanges {
		return nil, fields.Wrong("exchanges", len(f.Exchanges), fmt.Sprintf("at most %d", MaxExchanges))
	}
	decoded, w := 0, newWriter()
	for i := range f.Exchanges {
		e := &f.Exchanges[i]
		if i > 0 {
			b.WriteByte(',')
		}
		decoded += e.size()
		b.Write(w.exchange(e))
		if decoded > MaxDecoded || b.Len()+len(lastLine) > MaxBytes {
			return nil, fields.Wrong(fmt.Sprintf("exchanges[%d]", i), fielderror.Found("too much"),
				fmt.Sprintf("a file of at most %d bytes, with bodies of %d in all", MaxBytes, MaxDecoded))
		}
	}
	b.WriteString(lastLine)
	return b.Bytes(), nil
}

const lastLine = "]}\n"

// size is what counts for MaxDecoded.
func (e *Exchange) size() int {
	n := len(e.Request.Body)
	for _, c := range e.Response.Chunks {
		n += len(c.Data)
	}
	return n
}

// A writer writes the exchanges of one file, one after the other.
type writer struct {
	requests  requestIndex
	responses map[digest]int // from 1
	count     int
}

func newWriter() *writer {
	return &writer{newRequestIndex(), make(map[digest]int), 0}
}

func (w *writer) exchange(e *Exchange) []byte {
	w.count++
	dst := []byte("\n  {")
	member := func(name string, value *node) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ",\n   "...)
		}
		dst = append(append(append(dst, '"'), name...), "\": "...)
		dst = value.AppendLines(dst, "   ")
	}
	if e.Cell != "" {
		member("cell", text(e.Cell))
	}
	if e.Lane != "" {
		member("lane", text(e.Lane))
	}
	member("request", w.request(&e.Request))
	member("response", w.response(&e.Response))
	return append(dst, '}')
}

func (w *writer) request(r *Request) *node {
	body, isJSON := parse(r.Body)
	if isJSON {
		body.Sort()
	}
	if len(r.Body) > 0 {
		if shorter, ok := w.requests.find(r, body, w.count); ok {
			return shorter
		}
	}
	n := object()
	n.Set("method", text(r.Method))
	n.Set("url", text(r.URL))
	switch {
	case len(r.Body) == 0:
	case isJSON:
		n.Set("body", body)
	default:
		addText(n, r.Body)
	}
	return n
}

func (w *writer) response(r *Response) *node {
	if len(r.Chunks) > 0 {
		sum := r.digest()
		if first, ok := w.responses[sum]; ok {
			return like(first)
		}
		w.responses[sum] = w.count
	}
	n := object()
	n.Set("status", number(r.Status))
	if len(r.Header) > 0 {
		n.Set("header", header(r.Header))
	}
	addPause(n, r.After)
	switch kind := kindOf(r.Header); {
	case len(r.Chunks) == 0:
	case kind == streamEvents && r.isText():
		n.Set("events", list(r.Chunks, eventNode))
	case kind == streamLines && r.isText():
		n.Set("lines", list(r.Chunks, lineNode))
	case len(r.Chunks) == 1 && r.Chunks[0].After == 0:
		addBody(n, r.Chunks[0].Data)
	default:
		n.Set("chunks", list(r.Chunks, chunkNode))
	}
	return n
}

// isText reports whether each chunk is UTF-8.
func (r *Response) isText() bool {
	return !slices.ContainsFunc(r.Chunks, func(c Chunk) bool { return !utf8.Valid(c.Data) })
}

func header(h http.Header) *node {
	n := object()
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if values := h[name]; len(values) == 1 {
			n.Set(name, text(values[0]))
		} else {
			n.Set(name, list(values, text))
		}
	}
	return n
}

// addBody adds a body that came at once, with how its white space is restored.
func addBody(n *node, data []byte) {
	doc, end := data, ""
	for _, end = range []string{"\r\n", "\n", ""} {
		var ends bool
		if doc, ends = bytes.CutSuffix(data, []byte(end)); ends {
			break
		}
	}
	value, layout, ok := layoutOf(doc)
	if !ok {
		addText(n, data)
		return
	}
	n.Set("body", value)
	addIf(n, "layout", layout)
	addIf(n, "end", end)
}

func chunkNode(c Chunk) *node {
	n := object()
	addPause(n, c.After)
	addText(n, c.Data)
	return n
}

func lineNode(c Chunk) *node {
	n := object()
	addPause(n, c.After)
	line, ended := bytes.CutSuffix(c.Data, []byte("\n"))
	if !ended || bytes.ContainsAny(line, "\r\n") {
		n.Set("raw", text(string(c.Data)))
		return n
	}
	addData(n, line)
	return n
}

func eventNode(c Chunk) *node {
	n := object()
	addPause(n, c.After)
	e, err := sse.NewReader(bytes.NewReader(c.Data), len(c.Data)+1).Next()
	if err != nil || !bytes.Equal(sse.Append(nil, e), c.Data) {
		n.Set("raw", text(string(c.Data)))
		return n
	}
	addIf(n, "event", e.Type)
	if e.HasID {
		n.Set("id", text(e.ID))
	}
	addIf(n, "retry", e.Retry)
	if e.HasData {
		addData(n, []byte(e.Data))
	}
	return n
}

// addData adds what an event or a line holds.
func addData(n *node, data []byte) {
	value, layout, ok := layoutOf(data)
	if !ok || layout == layoutIndented { // which has line ends
		n.Set("text", text(string(data)))
		return
	}
	n.Set("data", value)
	addIf(n, "layout", layout)
}

// addText adds bytes as a text, or in base64.
func addText(n *node, data []byte) {
	if utf8.Valid(data) {
		n.Set("text", text(string(data)))
		return
	}
	n.Set("base64", text(base64.StdEncoding.EncodeToString(data)))
}

func addPause(n *node, d time.Duration) {
	if d != 0 {
		n.Set("after", text(d.String()))
	}
}

// addIf adds a text that is not empty.
func addIf(n *node, name, value string) {
	if value != "" {
		n.Set(name, text(value))
	}
}

func like(exchange int) *node {
	n := object()
	n.Set("like", number(exchange))
	return n
}

func object() *node { return &node{Kind: '{'} }

func text(s string) *node { return &node{Kind: '"', Text: s} }

func number(i int) *node { return &node{Kind: '0', Text: strconv.Itoa(i)} }

func list[T any](items []T, of func(T) *node) *node {
	n := &node{Kind: '['}
	for _, item := range items {
		n.Kids = append(n.Kids, of(item))
	}
	return n
}
