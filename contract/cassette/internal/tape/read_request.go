package tape

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

func has(names []string, name string) bool { return slices.Contains(names, name) }

func (r *reader) request(n *strictjson.Node, at string) (q Request) {
	var doc requestDoc
	if !r.Object(n, reflect.ValueOf(&doc).Elem()) {
		return Request{}
	}
	if n.Member("like") != nil {
		if first := r.earlier(n, at, doc.Like); first != nil &&
			r.alone(n, at, "nothing beside like but append", "like", "append") {
			q = first.Request
			if n.Member("append") != nil {
				q.Body = r.appended(q.Body, doc.Append, n.Member("append"), at+"/append")
			}
		}
		return q
	}
	r.require(n, at, "method", "a method such as GET")
	r.require(n, at, "url", "an address")
	r.oneOf(n, at, "body", "text", "base64")
	if n.Member("append") != nil {
		r.refuse(n.Member("append"), at+"/append", strictjson.WrongType, "there", "append beside like")
	}
	if m := n.Member("method"); m != nil && !token(doc.Method) {
		r.Refuse(m, "a method such as GET", nil)
	}
	r.checkURL(n.Member("url"), at+"/url", doc.URL)
	q.Method, q.URL = doc.Method, doc.URL
	if n.Member("body") != nil {
		if whole, ok := parse(doc.Body); ok {
			whole.Sort()
			q.Body = whole.Append(make([]byte, 0, len(doc.Body)), "")
			return q
		}
	}
	if body := r.body(&doc.bodyDoc, n, at); len(body) > 0 {
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
func (r *reader) checkURL(n *strictjson.Node, at, address string) {
	if n == nil {
		return
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		r.refuse(n, at, strictjson.WrongType, "no address", "an address with scheme and host")
	case clean(u) != address:
		r.refuse(n, at, strictjson.WrongType, "as no request is kept",
			"an address without user information, fragment, or parameters that hold keys")
	}
}

// appended is a body with more elements in some of its lists.
func (r *reader) appended(body []byte, more map[string]span, n *strictjson.Node, at string) []byte {
	size := len(body)
	for _, elements := range more {
		size += len(elements)
	}
	if size > r.left {
		r.left = -1 // which exchange reports
		return nil
	}
	whole, isJSON := parse(body)
	for _, pointer := range slices.Sorted(maps.Keys(more)) {
		place, member := strictjson.Join(at, pointer), n.Member(pointer)
		var into *node
		if isJSON && (pointer == "" || pointer[0] == '/') {
			into = lookup(whole, pointer)
		}
		elements, ok := parse(more[pointer])
		switch {
		case into == nil || into.Kind != '[':
			r.refuse(member, place, strictjson.WrongType, "of no list",
				"a JSON pointer to a list in the body of the earlier request")
		case !ok || elements.Kind != '[':
			r.Wrong(member, "a list")
		default:
			into.Kids = append(into.Kids, elements.Kids...)
		}
	}
	if !isJSON {
		return nil
	}
	whole.Sort()
	return whole.Append(make([]byte, 0, size), "")
}

// body is the body of a request or answer, if there is one.
func (r *reader) body(doc *bodyDoc, n *strictjson.Node, at string) []byte {
	switch {
	case n.Member("body") != nil:
		return compact(doc.Body)
	case doc.Text != nil:
		return []byte(*doc.Text)
	case doc.Base64 != nil:
		return r.base64(n.Member("base64"), at+"/base64", *doc.Base64)
	}
	return nil
}

func (r *reader) base64(n *strictjson.Node, at, text string) []byte {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || bytes.ContainsAny([]byte(text), "\r\n") {
		r.Refuse(n, "base64 with padding, as of RFC 4648, section 4", nil)
	}
	return data
}
