package tape

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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
		dst = d.AppendLines(dst, 0, "   ", true)
	}
	if e.Cell != "" {
		member("cell", encoded(e.Cell))
	}
	if e.Lane != "" {
		member("lane", encoded(e.Lane))
	}
	member("request", w.request(&e.Request))
	member("response", w.response(&e.Response))
	return append(dst, '}')
}

// encoded is a document without white space.
func encoded(doc any) []byte {
	text, _ := jsonedit.Marshal(doc) // of texts, numbers and JSON, it has JSON
	return text
}

func (w *writer) request(r *Request) []byte {
	doc := requestDoc{Method: r.Method, URL: r.URL}
	if len(r.Body) == 0 {
		return encoded(doc)
	}
	if body, isJSON := strictjson.Canonical(r.Body, maxDepth); isJSON {
		doc.Body = body
	} else {
		doc.Text, doc.Base64 = textOf(r.Body)
	}
	whole := encoded(doc)
	if shorter := w.earlier(&doc, whole); shorter != nil {
		return encoded(shorter)
	}
	return whole
}

func (w *writer) response(r *Response) []byte {
	doc := responseDoc{Status: r.Status, After: pause(r.After), Header: map[string]values{}}
	for name, texts := range r.Header {
		doc.Header[name] = texts
	}
	switch kind := kindOf(r.Header); {
	case len(r.Chunks) == 0:
		return encoded(doc)
	case kind == streamEvents && r.isText():
		doc.Events = each(r.Chunks, eventOf)
	case kind == streamLines && r.isText():
		doc.Lines = each(r.Chunks, lineOf)
	case len(r.Chunks) == 1 && r.Chunks[0].After == 0 && isTight(r.Chunks[0].Data):
		doc.Body = r.Chunks[0].Data
	case len(r.Chunks) == 1 && r.Chunks[0].After == 0:
		doc.Text, doc.Base64 = textOf(r.Chunks[0].Data)
	default:
		doc.Chunks = each(r.Chunks, chunkOf)
	}
	whole := encoded(doc)
	sum := sha256.Sum256(whole)
	if first, ok := w.responses[sum]; ok {
		return encoded(responseDoc{Like: first})
	}
	w.responses[sum] = w.count
	return whole
}

// isText reports whether each chunk is UTF-8.
func (r *Response) isText() bool {
	return !slices.ContainsFunc(r.Chunks, func(c Chunk) bool { return !utf8.Valid(c.Data) })
}

func each[D any](chunks []Chunk, of func(Chunk) D) []D {
	docs := make([]D, len(chunks))
	for i, c := range chunks {
		docs[i] = of(c)
	}
	return docs
}

func chunkOf(c Chunk) chunkDoc {
	text, base64 := textOf(c.Data)
	return chunkDoc{pause(c.After), text, base64}
}

func lineOf(c Chunk) lineDoc {
	line, ended := strings.CutSuffix(string(c.Data), "\n")
	if !ended || strings.ContainsAny(line, "\r\n") {
		return lineDoc{pause(c.After), rawOf(c.Data)}
	}
	return lineDoc{pause(c.After), dataOf(line)}
}

func eventOf(c Chunk) eventDoc {
	doc := eventDoc{After: pause(c.After)}
	e, ok := plainEvent(c.Data)
	if !ok {
		doc.dataDoc = rawOf(c.Data)
		return doc
	}
	doc.Event, doc.Retry = e.Type, e.Retry
	if e.HasID {
		doc.ID = &e.ID
	}
	if e.HasData {
		doc.dataDoc = dataOf(e.Data)
	}
	return doc
}

// textOf is data as a text, or else in base64.
func textOf(data []byte) (text *string, base64 *coded) {
	if s := string(data); utf8.ValidString(s) {
		return &s, nil
	}
	return nil, (*coded)(&data)
}

func rawOf(data []byte) dataDoc {
	raw := string(data)
	return dataDoc{Raw: &raw}
}

// dataOf is what an event or a line holds.
func dataOf(data string) dataDoc {
	if isTight([]byte(data)) {
		return dataDoc{Data: span(data)}
	}
	return dataDoc{Text: &data}
}
