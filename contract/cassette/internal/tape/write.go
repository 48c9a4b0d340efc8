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
	"github.com/shakedown-go/shakedown/internal/strictjson"
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
	member := func(name string, value node) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ",\n   "...)
		}
		dst = append(append(append(dst, '"'), name...), "\": "...)
		value.measure()
		dst = value.appendLines(dst, "   ")
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

func (w *writer) request(r *Request) node {
	body, isJSON := parse(r.Body)
	if isJSON {
		body.sort()
	}
	if len(r.Body) > 0 {
		if shorter, ok := w.requests.find(r, body, w.count); ok {
			return shorter
		}
	}
	n := node{kind: '{'}
	n.add("method", text(r.Method))
	n.add("url", text(r.URL))
	switch {
	case len(r.Body) == 0:
	case isJSON:
		n.add("body", body)
	default:
		n.add(textOrBase64(r.Body))
	}
	return n
}

func (w *writer) response(r *Response) node {
	if len(r.Chunks) > 0 {
		sum := r.digest()
		if first, ok := w.responses[sum]; ok {
			return like(first)
		}
		w.responses[sum] = w.count
	}
	n := node{kind: '{'}
	n.add("status", number(r.Status))
	if len(r.Header) > 0 {
		n.add("header", header(r.Header))
	}
	n.add(pause(r.After))
	switch kind := kindOf(r.Header); {
	case len(r.Chunks) == 0:
	case kind == streamEvents && r.isText():
		n.add("events", list(r.Chunks, eventNode))
	case kind == streamLines && r.isText():
		n.add("lines", list(r.Chunks, lineNode))
	case len(r.Chunks) == 1 && r.Chunks[0].After == 0:
		n.addBody(r.Chunks[0].Data)
	default:
		n.add("chunks", list(r.Chunks, chunkNode))
	}
	return n
}

// isText reports whether each chunk is UTF-8.
func (r *Response) isText() bool {
	return !slices.ContainsFunc(r.Chunks, func(c Chunk) bool { return !utf8.Valid(c.Data) })
}

func header(h http.Header) node {
	n := node{kind: '{'}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if values := h[name]; len(values) == 1 {
			n.add(name, text(values[0]))
		} else {
			n.add(name, list(values, text))
		}
	}
	return n
}

// addBody adds a body that came at once, with how its white space is restored.
func (n *node) addBody(data []byte) {
	doc, end := data, ""
	for _, end = range []string{"\r\n", "\n", ""} {
		var ends bool
		if doc, ends = bytes.CutSuffix(data, []byte(end)); ends {
			break
		}
	}
	value, layout, ok := layoutOf(doc)
	if !ok {
		n.add(textOrBase64(data))
		return
	}
	n.add("body", value)
	n.addIf("layout", layout)
	n.addIf("end", end)
}

func chunkNode(c Chunk) node {
	n := node{kind: '{'}
	n.add(pause(c.After))
	n.add(textOrBase64(c.Data))
	return n
}

func lineNode(c Chunk) node {
	n := node{kind: '{'}
	n.add(pause(c.After))
	line, ended := bytes.CutSuffix(c.Data, []byte("\n"))
	if !ended || bytes.ContainsAny(line, "\r\n") {
		n.add("raw", text(string(c.Data)))
		return n
	}
	n.addData(line)
	return n
}

func eventNode(c Chunk) node {
	n := node{kind: '{'}
	n.add(pause(c.After))
	e, err := sse.NewReader(bytes.NewReader(c.Data), len(c.Data)+1).Next()
	if err != nil || !bytes.Equal(sse.Append(nil, e), c.Data) {
		n.add("raw", text(string(c.Data)))
		return n
	}
	n.addIf("event", e.Type)
	if e.HasID {
		n.add("id", text(e.ID))
	}
	n.addIf("retry", e.Retry)
	if e.HasData {
		n.addData([]byte(e.Data))
	}
	return n
}

// addData adds what an event or a line holds.
func (n *node) addData(data []byte) {
	value, layout, ok := layoutOf(data)
	if !ok || layout == layoutIndented { // which has line ends
		n.add("text", text(string(data)))
		return
	}
	n.add("data", value)
	n.addIf("layout", layout)
}

func textOrBase64(data []byte) (name string, value node) {
	if utf8.Valid(data) {
		return "text", text(string(data))
	}
	return "base64", text(base64.StdEncoding.EncodeToString(data))
}

func pause(d time.Duration) (name string, value node) {
	if d == 0 {
		return "", node{}
	}
	return "after", text(d.String())
}

func like(exchange int) node {
	n := node{kind: '{'}
	n.add("like", number(exchange))
	return n
}

func text(s string) node { return node{raw: strictjson.Quote(s)} }

func number(i int) node { return node{raw: strconv.AppendInt(nil, int64(i), 10)} }

func list[T any](items []T, of func(T) node) node {
	n := node{kind: '['}
	for _, item := range items {
		n.kids = append(n.kids, of(item))
	}
	return n
}

// add adds a member; one without a name is none.
func (n *node) add(name string, value node) {
	if name != "" {
		n.keys, n.kids = append(n.keys, strictjson.Quote(name)), append(n.kids, value)
	}
}

// addIf adds a text that is not empty.
func (n *node) addIf(name, value string) {
	if value != "" {
		n.add(name, text(value))
	}
}
