package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// JSON writes the value back: compact, numbers and the order of members as they were.
func (n *Node) JSON() json.RawMessage { return n.Append(nil, "") }

// Append appends the value on one line, with gap behind each colon and comma. What has Raw is
// written as it is spelled, without white space.
func (n *Node) Append(dst []byte, gap string) []byte {
	dst, _ = n.append(dst, gap, math.MaxInt)
	return dst
}

// append is [Node.Append] that gives up, with ok false, once dst is longer than most bytes.
func (n *Node) append(dst []byte, gap string, most int) (line []byte, ok bool) {
	switch {
	case n.Raw != nil:
		dst = jsonedit.Compact(dst, n.Raw)
	case n.Kind == '"':
		dst = appendQuoted(dst, n.Text)
	case n.Kind == '0':
		dst = append(dst, n.Text...)
	case n.Kind == 't':
		dst = append(dst, "true"...)
	case n.Kind == 'f':
		dst = append(dst, "false"...)
	case n.Kind == 'n':
		dst = append(dst, "null"...)
	default:
		dst = append(dst, n.Kind)
		for i, kid := range n.Kids {
			if i > 0 {
				dst = append(append(dst, ','), gap...)
			}
			if n.Kind == '{' {
				dst = append(append(n.AppendName(dst, i), ':'), gap...)
			}
			if dst, ok = kid.append(dst, gap, most); !ok {
				return dst, false
			}
		}
		dst = append(dst, closing(n.Kind))
	}
	return dst, len(dst) <= most
}

// closing is the bracket that belongs to an opening one, in ASCII two after it.
func closing(opening byte) byte { return opening + 2 }

// AppendName appends the name of the i-th member as it is written.
func (n *Node) AppendName(dst []byte, i int) []byte {
	if n.names != nil && n.names.spelled != nil {
		return append(dst, n.names.spelled[i]...)
	}
	return appendQuoted(dst, n.Keys[i])
}

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// Pretty writes a document: a value on one line if it fits, otherwise its parts on lines
// of their own, indented further than indent. The outermost object or list is always broken. The
// names of members do not count for the width.
func (n *Node) Pretty(b *bytes.Buffer, indent string) { b.Write(n.lines(nil, indent, false)) }

// AppendLines appends a value like [Node.Pretty], but no line is longer that could be broken: what
// stands before the value counts, and an outermost object that fits stays on its line.
func (n *Node) AppendLines(dst []byte, indent string) []byte { return n.lines(dst, indent, true) }

func (n *Node) lines(dst []byte, indent string, strict bool) []byte {
	if n.Raw != nil || len(n.Kids) == 0 {
		return n.Append(dst, " ")
	}
	several := n.Kind == '[' && len(n.Kids) > 1 && n.Kids[0].Kind == '{' // a line for each
	if !several && (strict || indent != "") {
		from := len(dst)
		used := len(indent)
		if strict {
			used = from - 1 - bytes.LastIndexByte(dst, '\n')
		}
		line, fits := n.append(dst, " ", from+lineWidth-used)
		if fits {
			return line
		}
		dst = line[:from]
	}
	dst = append(dst, n.Kind)
	deeper := indent + "  "
	for i, kid := range n.Kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, '\n'), deeper...)
		if n.Kind == '{' {
			dst = append(n.AppendName(dst, i), ": "...)
		}
		dst = kid.lines(dst, deeper, strict)
	}
	return append(append(append(dst, '\n'), indent...), closing(n.Kind))
}

// Sort sorts the members of all objects by their names as they are spelled, and writes texts and
// names without needless escapes, which leaves the value of a spelled tree as it is.
func (n *Node) Sort() {
	n.Raw = respelled(n.Raw)
	for _, kid := range n.Kids {
		kid.Sort()
	}
	if n.Kind != '{' {
		return
	}
	type member struct {
		key     string
		spelled []byte
		kid     *Node
	}
	members := make([]member, len(n.Keys))
	for i, key := range n.Keys {
		members[i] = member{key, respelled(n.AppendName(nil, i)), n.Kids[i]}
	}
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.spelled, b.spelled) })
	spelled := make([][]byte, len(members))
	for i, m := range members {
		n.Keys[i], n.Kids[i], spelled[i] = m.key, m.kid, m.spelled
	}
	n.names = &names{spelled: spelled}
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
