package tape

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

func (r *reader) request(n *strictjson.Node, doc *requestDoc) (q Request) {
	if n.Get("like") != nil {
		q = r.earlier(n, doc.Like).Request
		if more := n.Get("append"); more != nil {
			q.Body = r.appended(q.Body, doc.Append, more)
		}
		return q
	}
	if m := n.Get("method"); m == nil {
		r.Missing(n, "method", "a method such as GET")
	} else if !token(doc.Method) {
		r.Refuse(m, "a method such as GET", nil)
	}
	r.checkURL(n, doc.URL)
	q.Method, q.URL = doc.Method, doc.URL
	if body := doc.body(); len(body) > 0 {
		q.Body = Canonical(body)
	}
	return q
}

// token reports whether a text is one of RFC 9110, such as a method or the name of a
// header.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// checkURL refuses an address that no request has once it is cleaned. It shows none: it
// may hold a key.
func (r *reader) checkURL(n *strictjson.Node, address string) {
	m := n.Get("url")
	u, err := url.Parse(address)
	switch {
	case m == nil:
		r.Missing(n, "url", "an address")
	case err != nil || u.Scheme == "" || u.Host == "":
		r.refuse(m, strictjson.WrongType, "no address", "an address with scheme and host")
	case clean(u) != address:
		r.refuse(m, strictjson.WrongType, "as no request is kept",
			"an address without user information, fragment, or parameters that hold keys")
	}
}

// appended is a body with more elements in some of the lists that its members are.
func (r *reader) appended(body []byte, more map[string]span, n *strictjson.Node) []byte {
	size := len(body)
	for _, elements := range more {
		size += len(elements)
	}
	if size > r.left {
		r.left = -1 // which exchange reports
		return nil
	}
	whole, isJSON := parse(body)
	var edits []jsonedit.Edit
	for i, pointer := range n.Keys() {
		into := -1
		if isJSON {
			into = listAt(whole, pointer)
		}
		elements, ok := parse(more[pointer])
		switch {
		case into < 0:
			r.refuse(n.At(i), strictjson.WrongType, "of no list",
				"a JSON pointer to a list in the body of the earlier request, such as /messages")
		case !ok || elements.Kind(0) != jsonedit.Array:
			r.Wrong(n.At(i), "a list")
		case len(elements.Nodes) > 1:
			within := elements.Raw(0)
			edits = append(edits, whole.Insert(into, "", within[1:len(within)-1]))
		}
	}
	if !isJSON {
		return nil
	}
	return Canonical(whole.Apply(edits...))
}

// body is the body of a request or answer; nil: there is none.
func (doc *bodyDoc) body() []byte {
	switch {
	case doc.Body != nil:
		return compact(doc.Body)
	case doc.Text != nil:
		return []byte(*doc.Text)
	case doc.Base64 != nil:
		return *doc.Base64
	}
	return nil
}

func (r *reader) response(n *strictjson.Node, doc *responseDoc) (a Response) {
	if n.Get("like") != nil {
		return r.earlier(n, doc.Like).Response
	}
	if n.Get("status") == nil {
		r.Missing(n, "status", "200 to 599")
	}
	a.Status, a.After = doc.Status, time.Duration(doc.After)
	header := n.Get("header")
	for i, name := range header.Keys() {
		if m := header.At(i); !token(name) {
			r.refuse(m, strictjson.WrongType, "no name of a header", "a name such as Content-Type")
		} else if canonical := http.CanonicalHeaderKey(name); canonical != name {
			r.refuse(m, strictjson.WrongType, "in another spelling", canonical)
		}
		if i == 0 {
			a.Header = make(http.Header, len(doc.Header))
		}
		a.Header[name] = doc.Header[name]
	}
	for i, event := range doc.Events {
		a.Chunks = append(a.Chunks, Chunk{time.Duration(event.After), r.event(n.Get("events").At(i), &event)})
	}
	for i, line := range doc.Lines {
		a.Chunks = append(a.Chunks, Chunk{time.Duration(line.After), r.line(n.Get("lines").At(i), &line)})
	}
	for i, chunk := range doc.Chunks {
		data := (&bodyDoc{Text: chunk.Text, Base64: chunk.Base64}).body()
		if data == nil {
			r.Missing(n.Get("chunks").At(i), "text", "one of text, base64")
		}
		a.Chunks = append(a.Chunks, Chunk{time.Duration(chunk.After), data})
	}
	if data := doc.body(); data != nil {
		a.Chunks = append(a.Chunks, Chunk{Data: data})
	}
	return a
}

// values reads what a header has under a name: a text, or a list of them.
func (r *reader) values(n *strictjson.Node, v reflect.Value) bool {
	const allowed = "a string, or a list of strings"
	kids := []*strictjson.Node{n}
	if n.Kind() == jsonedit.Array {
		kids = n.Values()
	}
	fits := len(kids) > 0 || r.Refuse(n, allowed, nil)
	var texts values
	for _, kid := range kids {
		text, isText := kid.Text()
		switch {
		case !isText:
			fits = r.Wrong(kid, allowed)
		case strings.Map(printable, text) != text:
			fits = r.Refuse(kid, "a text without line ends and control characters", nil)
		}
		texts = append(texts, text)
	}
	v.Set(reflect.ValueOf(texts))
	return fits
}

func (r *reader) event(n *strictjson.Node, doc *eventDoc) []byte {
	if doc.Raw != nil {
		return []byte(*doc.Raw)
	}
	e := sse.Event{Type: doc.Event, Retry: doc.Retry, HasID: doc.ID != nil}
	if e.HasID {
		e.ID = *doc.ID
	}
	r.without(n.Get("event"), "\r\n", "line ends")
	r.without(n.Get("id"), "\r\n\x00", "line ends and NUL")
	if strings.Trim(doc.Retry, "0123456789") != "" {
		r.Refuse(n.Get("retry"), "milliseconds in decimal digits", nil)
	}
	r.without(n.Get("text"), "\r", "carriage returns; raw takes any")
	e.Data, e.HasData = doc.data()
	return sse.Append(nil, e)
}

// without refuses a text that has any of these characters.
func (r *reader) without(n *strictjson.Node, characters, called string) {
	if n != nil && strings.ContainsAny(n.String(), characters) {
		r.Refuse(n, "a text without "+called, nil)
	}
}

func (r *reader) line(n *strictjson.Node, doc *lineDoc) []byte {
	r.without(n.Get("text"), "\r\n", "line ends; raw takes any")
	data, ok := doc.data()
	switch {
	case doc.Raw != nil:
		return []byte(*doc.Raw)
	case !ok:
		r.Missing(n, "data", "one of data, text, raw")
	}
	return []byte(data + "\n")
}

// data is what an event or a line holds; ok reports whether it is there.
func (doc *dataDoc) data() (data string, ok bool) {
	switch {
	case doc.Data != nil:
		return string(compact(doc.Data)), true
	case doc.Text != nil:
		return *doc.Text, true
	}
	return "", false
}
