package strictjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// JSON writes the value back: compact, numbers and the order of members as they were.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

func (n *Node) append(dst []byte) []byte {
	switch {
	case n.Raw != nil:
		return jsonedit.Compact(dst, n.Raw, "")
	case n.Kind == '"':
		return appendQuoted(dst, n.Text)
	case n.Kind == '0':
		return append(dst, n.Text...)
	case n.Kind == 't':
		return append(dst, "true"...)
	case n.Kind == 'f':
		return append(dst, "false"...)
	case n.Kind == 'n':
		return append(dst, "null"...)
	}
	dst = append(dst, n.Kind)
	for i, kid := range n.Kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.Kind == '{' {
			dst = append(appendQuoted(dst, n.Keys[i]), ':')
		}
		dst = kid.append(dst)
	}
	return append(dst, closing(n.Kind))
}

// closing is the bracket that belongs to an opening one, in ASCII two after it.
func closing(opening byte) byte { return opening + 2 }

// Pretty writes a document as it is best kept in a file, with a line end: see [jsonedit.Doc.AppendLines].
func (n *Node) Pretty() []byte {
	d, _ := jsonedit.Parse(n.JSON())
	return append(d.AppendLines(nil, "", false), '\n')
}

// Canonical returns a document without white space and needless escapes, and with the members of
// all objects sorted by their names, which is the same value. ok is false if it is not JSON in
// UTF-8, or if more than maxDepth objects and lists lie within each other.
func Canonical(doc []byte, maxDepth int) (text []byte, ok bool) {
	d, ok := jsonedit.ParseUpTo(doc, maxDepth)
	if !ok || !utf8.Valid(doc) {
		return nil, false
	}
	return appendCanonical(make([]byte, 0, len(doc)), d, 0), true
}

func appendCanonical(dst []byte, d *jsonedit.Doc, i int) []byte {
	opening := d.Text[d.Nodes[i].Start]
	if opening != '{' && opening != '[' {
		return append(dst, respelled(d.Raw(i))...)
	}
	type part struct {
		name []byte // of a member
		node int
	}
	var parts []part
	for c := i + 1; c < int(d.Nodes[i].Next); c = int(d.Nodes[c].Next) {
		parts = append(parts, part{respelled(d.Text[d.Nodes[c].NameStart:d.Nodes[c].NameEnd]), c})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return bytes.Compare(a.name, b.name) })
	dst = append(dst, opening)
	for k, p := range parts {
		if k > 0 {
			dst = append(dst, ',')
		}
		if opening == '{' {
			dst = append(append(dst, p.name...), ':')
		}
		dst = appendCanonical(dst, d, p.node)
	}
	return append(dst, closing(opening))
}

// respelled is a text in quotes without needless escapes, or what else is given.
func respelled(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return Quote(jsonedit.Unquote(raw))
}

// Quote is a string as JSON, with < and & left readable.
func Quote(s string) []byte { return appendQuoted(nil, s) }

func appendQuoted(dst []byte, s string) []byte {
	plain := func(c rune) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }
	if strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return append(append(append(dst, '"'), s...), '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has JSON
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}
