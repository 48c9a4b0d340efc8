package tape

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
	decoded, w := 0, &writer{equal: map[digest]int{}, begun: map[digest]int{}, responses: map[digest]int{}}
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
	equal     map[digest]int // requests by the whole, from 1
	begun     map[digest]int // requests by the beginnings of their lists
	responses map[digest]int
	count     int
}

func (w *writer) exchange(e *Exchange) []byte {
	w.count++
	dst := []byte("\n  {")
	member := func(name string, value []byte) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ",\n   "...)
		}
		dst = append(append(append(dst, '"'), name...), "\": "...)
		d, _ := jsonedit.Parse(value)
		dst = d.AppendLines(dst, "   ", true)
	}
	if e.Cell != "" {
		member("cell", strictjson.Quote(e.Cell))
	}
	if e.Lane != "" {
		member("lane", strictjson.Quote(e.Lane))
	}
	member("request", w.request(&e.Request))
	member("response", w.response(&e.Response))
	return append(dst, '}')
}

func (w *writer) request(r *Request) []byte {
	var o object
	o.setText("method", r.Method)
	o.setText("url", r.URL)
	if len(r.Body) == 0 {
		return o.text()
	}
	head := slices.Clone(o)
	body, isJSON := strictjson.Canonical(r.Body, maxDepth)
	if isJSON {
		o.set("body", body)
	} else {
		o.setBytes(r.Body)
	}
	whole := o.text()
	if shorter := w.earlier(head, whole, body); shorter != nil {
		return shorter.text()
	}
	return whole
}

func (w *writer) response(r *Response) []byte {
	var o object
	o.set("status", strconv.AppendInt(nil, int64(r.Status), 10))
	if len(r.Header) > 0 {
		o.set("header", header(r.Header))
	}
	o.setPause(r.After)
	switch kind := kindOf(r.Header); {
	case len(r.Chunks) == 0:
	case kind == streamEvents && r.isText():
		o.set("events", list(r.Chunks, eventText))
	case kind == streamLines && r.isText():
		o.set("lines", list(r.Chunks, lineText))
	case len(r.Chunks) == 1 && r.Chunks[0].After == 0:
		o.setBody(r.Chunks[0].Data)
	default:
		o.set("chunks", list(r.Chunks, chunkText))
	}
	whole := o.text()
	if len(r.Chunks) == 0 {
		return whole
	}
	sum := sha256.Sum256(whole)
	if first, ok := w.responses[sum]; ok {
		return like(first).text()
	}
	w.responses[sum] = w.count
	return whole
}

// isText reports whether each chunk is UTF-8.
func (r *Response) isText() bool {
	return !slices.ContainsFunc(r.Chunks, func(c Chunk) bool { return !utf8.Valid(c.Data) })
}

func header(h http.Header) []byte {
	var o object
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if values := h[name]; len(values) == 1 {
			o.setText(name, values[0])
		} else {
			o.set(name, list(values, strictjson.Quote))
		}
	}
	return o.text()
}

func chunkText(c Chunk) []byte {
	var o object
	o.setPause(c.After)
	o.setBytes(c.Data)
	return o.text()
}

func lineText(c Chunk) []byte {
	var o object
	o.setPause(c.After)
	line, ended := bytes.CutSuffix(c.Data, []byte("\n"))
	if !ended || bytes.ContainsAny(line, "\r\n") {
		o.setText("raw", string(c.Data))
	} else {
		o.setData(line)
	}
	return o.text()
}

func eventText(c Chunk) []byte {
	var o object
	o.setPause(c.After)
	e, err := sse.NewReader(bytes.NewReader(c.Data), len(c.Data)+1).Next()
	if err != nil || !bytes.Equal(sse.Append(nil, e), c.Data) {
		o.setText("raw", string(c.Data))
		return o.text()
	}
	o.setUnlessEmpty("event", e.Type)
	if e.HasID {
		o.setText("id", e.ID)
	}
	o.setUnlessEmpty("retry", e.Retry)
	if e.HasData {
		o.setData([]byte(e.Data))
	}
	return o.text()
}

// An object is JSON that is written member by member, without white space.
type object []byte

func (o *object) set(name string, value []byte) {
	*o = append(append(append(*o, ','), strictjson.Quote(name)...), ':')
	*o = append(*o, value...)
}

func (o object) text() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	o[0] = '{'
	return append(o, '}')
}

func (o *object) setText(name, value string) { o.set(name, strictjson.Quote(value)) }

func (o *object) setUnlessEmpty(name, value string) {
	if value != "" {
		o.setText(name, value)
	}
}

func (o *object) setPause(d time.Duration) {
	if d != 0 {
		o.setText("after", d.String())
	}
}

// setBytes adds bytes as a text, or in base64.
func (o *object) setBytes(data []byte) {
	if utf8.Valid(data) {
		o.setText("text", string(data))
		return
	}
	o.setText("base64", base64.StdEncoding.EncodeToString(data))
}

// setBody adds a body that came at once, with how its white space is restored.
func (o *object) setBody(data []byte) {
	doc, end := data, ""
	for _, end = range []string{"\r\n", "\n", ""} {
		var ends bool
		if doc, ends = bytes.CutSuffix(data, []byte(end)); ends {
			break
		}
	}
	value, layout, ok := layoutOf(doc)
	if !ok {
		o.setBytes(data)
		return
	}
	o.set("body", value)
	o.setUnlessEmpty("layout", layout)
	o.setUnlessEmpty("end", end)
}

// setData adds what an event or a line holds.
func (o *object) setData(data []byte) {
	value, layout, ok := layoutOf(data)
	if !ok || layout == layoutIndented { // which has line ends
		o.setText("text", string(data))
		return
	}
	o.set("data", value)
	o.setUnlessEmpty("layout", layout)
}

func like(exchange int) (o object) {
	o.set("like", strconv.AppendInt(nil, int64(exchange), 10))
	return o
}

// list writes a list without white space.
func list[T any](items []T, text func(T) []byte) []byte {
	dst := []byte{'['}
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text(item)...)
	}
	return append(dst, ']')
}
