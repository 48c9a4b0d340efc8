package tape

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/sse"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

func (r *reader) response(n *strictjson.Node, at string) (a Response) {
	var doc responseDoc
	if !r.Object(n, reflect.ValueOf(&doc).Elem()) {
		return Response{}
	}
	if n.Member("like") != nil {
		if first := r.earlier(n, at, doc.Like); first != nil && r.alone(n, at, "nothing beside like", "like") {
			a = first.Response
		}
		return a
	}
	if r.require(n, at, "status", "200 to 599") && (doc.Status < 200 || doc.Status > 599) {
		r.Refuse(n.Member("status"), "200 to 599", nil)
	}
	a.Status = doc.Status
	a.Header = r.header(doc.Header.Node, at+"/header")
	a.After = r.pause(n, at, doc.After)
	r.oneOf(n, at, "body", "text", "base64", "events", "lines", "chunks")
	for _, name := range []string{"layout", "end"} {
		if m := n.Member(name); m != nil && n.Member("body") == nil {
			r.refuse(m, at+"/"+name, strictjson.WrongType, "there", name+" beside body")
		}
	}
	if m := n.Member("end"); m != nil && doc.End != "\n" && doc.End != "\r\n" {
		r.Refuse(m, `"\n" or "\r\n"`, nil)
	}
	a.Chunks = r.chunks(&doc, n, at)
	return a
}

// chunks reads the body in the form in which it is there.
func (r *reader) chunks(doc *responseDoc, n *strictjson.Node, at string) (chunks []Chunk) {
	each := func(name string, parts []part, read func(n *strictjson.Node, at string) Chunk) {
		for i, p := range parts {
			chunks = append(chunks, read(p.Node, at+"/"+name+"/"+strconv.Itoa(i)))
		}
	}
	each("events", doc.Events, r.event)
	each("lines", doc.Lines, r.line)
	each("chunks", doc.Chunks, r.chunk)
	if n.Member("body") != nil || doc.Text != nil || doc.Base64 != nil {
		data := r.body(&doc.bodyDoc, n, at)
		if n.Member("body") != nil {
			data = append(r.laidOut(data, doc.Layout), doc.End...)
		}
		chunks = append(chunks, Chunk{Data: data})
	}
	return chunks
}

// laidOut writes compact JSON in a layout, which may take a multiple of its bytes.
func (r *reader) laidOut(doc []byte, layout string) []byte {
	laid, ok := laidOut(doc, layout, r.left)
	if !ok {
		r.left = -1 // which exchange reports
	}
	return laid
}

// longest bounds a pause: a longer one is a mistake.
const longest = 24 * time.Hour

func (r *reader) pause(n *strictjson.Node, at string, d time.Duration) time.Duration {
	if d < 0 || d > longest {
		r.Refuse(n.Member("after"), "0s to 24h", nil)
	}
	return d
}

// header reads a header: a text or a list of texts for each name.
func (r *reader) header(n *strictjson.Node, at string) http.Header {
	if n == nil {
		return nil
	}
	if n.Kind != '{' {
		r.Wrong(n, "an object")
		return nil
	}
	var h http.Header
	for i, name := range n.Keys {
		here := strictjson.Join(at, name)
		switch {
		case !token(name):
			r.refuse(n.Kids[i], here, strictjson.WrongType, "no name of a header", "a name such as Content-Type")
		case http.CanonicalHeaderKey(name) != name:
			r.refuse(n.Kids[i], here, strictjson.WrongType, "in another spelling", http.CanonicalHeaderKey(name))
		}
		if h == nil {
			h = make(http.Header)
		}
		h[name] = r.headerValues(n.Kids[i], here)
	}
	return h
}

func (r *reader) headerValues(n *strictjson.Node, at string) (values []string) {
	const allowed = "a string, or a list of strings"
	if n.Kind == '[' && len(n.Kids) == 0 {
		r.Refuse(n, allowed, nil)
	}
	kids := []*strictjson.Node{n}
	if n.Kind == '[' {
		kids = n.Kids
	}
	for i, kid := range kids {
		here := at
		if n.Kind == '[' {
			here += "/" + strconv.Itoa(i)
		}
		switch {
		case kid.Kind != '"':
			r.Wrong(kid, allowed)
		case strings.Map(printable, kid.Text) != kid.Text:
			r.Refuse(kid, "a text without line ends and control characters", nil)
		}
		values = append(values, kid.Text)
	}
	return values
}

func (r *reader) event(n *strictjson.Node, at string) (c Chunk) {
	var doc eventDoc
	if !r.Object(n, reflect.ValueOf(&doc).Elem()) {
		return c
	}
	c.After = r.pause(n, at, doc.After)
	if doc.Raw != nil {
		if r.alone(n, at, "nothing beside raw but after", "raw", "after") {
			c.Data = []byte(*doc.Raw)
		}
		return c
	}
	for _, name := range []string{"event", "id", "retry"} {
		if m := n.Member(name); m != nil && strings.ContainsAny(m.Text, "\r\n") {
			r.Refuse(m, "a text without line ends", nil)
		}
	}
	if doc.ID != nil && strings.Contains(*doc.ID, "\x00") {
		r.Refuse(n.Member("id"), "a text without NUL", nil)
	}
	if strings.Trim(doc.Retry, "0123456789") != "" {
		r.Refuse(n.Member("retry"), "milliseconds in decimal digits", nil)
	}
	e := sse.Event{Type: doc.Event, Retry: doc.Retry, HasID: doc.ID != nil}
	if e.HasID {
		e.ID = *doc.ID
	}
	e.Data, e.HasData = r.data(&doc.dataDoc, n, at, "\r", "carriage returns")
	c.Data = sse.Append(nil, e)
	return c
}

// data reads what an event or a line holds, and reports whether it is there. A text
// must not have any of the characters without, which are called so in words.
func (r *reader) data(doc *dataDoc, n *strictjson.Node, at, without, called string) (data string, ok bool) {
	r.oneOf(n, at, "data", "text", "raw")
	isJSON := n.Member("data") != nil
	if m := n.Member("layout"); m != nil && !isJSON {
		r.refuse(m, at+"/layout", strictjson.WrongType, "there", "layout beside data")
	}
	switch {
	case isJSON:
		return string(r.laidOut(compact(doc.Data), doc.Layout)), true
	case doc.Text == nil:
		return "", false
	case strings.ContainsAny(*doc.Text, without):
		r.Refuse(n.Member("text"), "a text without "+called+"; raw takes any", nil)
	}
	return *doc.Text, true
}

func (r *reader) line(n *strictjson.Node, at string) (c Chunk) {
	var doc lineDoc
	if !r.Object(n, reflect.ValueOf(&doc).Elem()) {
		return c
	}
	c.After = r.pause(n, at, doc.After)
	data, ok := r.data(&doc.dataDoc, n, at, "\r\n", "line ends")
	switch {
	case doc.Raw != nil:
		c.Data = []byte(*doc.Raw)
	case ok:
		c.Data = append([]byte(data), '\n')
	default:
		r.require(n, at, "data", "one of data, text, raw")
	}
	return c
}

func (r *reader) chunk(n *strictjson.Node, at string) (c Chunk) {
	var doc chunkDoc
	if !r.Object(n, reflect.ValueOf(&doc).Elem()) {
		return c
	}
	c.After = r.pause(n, at, doc.After)
	r.oneOf(n, at, "text", "base64")
	switch {
	case doc.Text != nil:
		c.Data = []byte(*doc.Text)
	case doc.Base64 != nil:
		c.Data = r.base64(n.Member("base64"), at+"/base64", *doc.Base64)
	default:
		r.require(n, at, "text", "one of text, base64")
	}
	return c
}
