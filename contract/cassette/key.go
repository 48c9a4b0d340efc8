package cassette

import (
	"bytes"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// A keyer makes the keys by which requests are matched.
type keyer struct {
	ignore []*jsonpath.Path
	masks  []mask
}

type mask struct {
	pattern *regexp.Regexp
	text    string
}

func (m mask) apply(s string) string { return m.pattern.ReplaceAllLiteralString(s, m.text) }

// key returns the same number for requests that are equal.
func (k *keyer) key(r tape.Request) uint64 {
	r = k.compared(r)
	h := hash.Combine(hash.String(r.Method), hash.String(r.URL))
	return hash.Combine(h, jsonhash.Sum(r.Body))
}

// compared returns of a request what counts: the address without its scheme and with its query in order, the body
// without what is ignored, and both masked.
func (k *keyer) compared(r tape.Request) tape.Request {
	r.URL = k.address(r.URL)
	if len(k.ignore)+len(k.masks) > 0 {
		r.Body = k.body(r.Body)
	}
	return r
}

func (k *keyer) address(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	address, query, asked := strings.Cut(address, "?")
	host, path, _ := strings.Cut(address, "/")
	address = host + k.path("/"+path)
	if asked {
		address += "?" + k.query(query)
	}
	return address
}

// slashes keeps the slashes within the parts of a path apart from those between them.
var slashes = strings.NewReplacer("%2F", "%252F", "%2f", "%252F")

// path masks a path. Masks see it without its escapes.
func (k *keyer) path(escaped string) string {
	if len(k.masks) == 0 {
		return escaped
	}
	if plain, err := url.PathUnescape(slashes.Replace(escaped)); err == nil {
		if text := k.masked(plain); text != plain {
			return (&url.URL{Path: text}).EscapedPath()
		}
	}
	return escaped
}

// query puts the parameters of a query in order. Masks see each without its escapes.
func (k *keyer) query(escaped string) string {
	values, err := url.ParseQuery(escaped)
	if err != nil {
		return k.masked(escaped)
	}
	compared := make(url.Values, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			as := name
			if text := k.masked(name + "=" + value); text != name+"="+value {
				as, value, _ = strings.Cut(text, "=")
			}
			compared.Add(as, value)
		}
	}
	return compared.Encode()
}

func (k *keyer) masked(text string) string {
	for _, m := range k.masks {
		text = m.apply(text)
	}
	return text
}

func (k *keyer) body(body []byte) []byte {
	d, ok := jsonedit.Parse(body)
	if !ok {
		return []byte(k.masked(string(body)))
	}
	var edits []jsonedit.Edit
	for _, path := range k.ignore {
		edits = append(edits, d.Remove(path.Find(d)...)...)
	}
	if len(k.masks) > 0 {
		edits = append(edits, k.maskedTexts(d)...)
	}
	if len(edits) == 0 {
		return body
	}
	return d.Apply(edits...)
}

// unmasked reports whether no mask finds anything in a string, as far as that shows without decoding it.
func (k *keyer) unmasked(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return false
	}
	text := raw[1 : len(raw)-1]
	return !slices.ContainsFunc(k.masks, func(m mask) bool { return m.pattern.Match(text) })
}

// maskedTexts are the edits of the strings in which a mask finds something.
func (k *keyer) maskedTexts(d *jsonedit.Doc) (edits []jsonedit.Edit) {
	for i := range d.Nodes {
		if d.Kind(i) != jsonedit.String || k.unmasked(d.Raw(i)) {
			continue
		}
		before := d.String(i)
		if after := k.masked(before); after != before {
			edits = append(edits, d.Replace(i, jsonedit.Quote(after)))
		}
	}
	return edits
}
