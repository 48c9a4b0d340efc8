package jsonedit

import (
	"bytes"
	"slices"
)

// JSON returns the value without white space and needless escapes. Numbers and the order of members stay.
func (v *Value) JSON() []byte {
	d, _ := Parse(v.Bytes())
	return d.AppendPlain(make([]byte, 0, len(d.Text)), 0, false)
}

// Pretty returns the value as it is best kept in a file, with a line end: see [Doc.AppendLines].
func (v *Value) Pretty() []byte {
	d, _ := Parse(v.JSON())
	return append(d.AppendLines(nil, 0, "", false), '\n')
}

// AppendPlain appends node i without white space and needless escapes, and with the members of all objects in
// their order, or sorted by their names.
func (d *Doc) AppendPlain(dst []byte, i int, sorted bool) []byte {
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
	if sorted {
		slices.SortStableFunc(parts, func(a, b part) int { return bytes.Compare(a.name, b.name) })
	}
	dst = append(dst, opening)
	for k, p := range parts {
		if k > 0 {
			dst = append(dst, ',')
		}
		if opening == '{' {
			dst = append(append(dst, p.name...), ':')
		}
		dst = d.AppendPlain(dst, p.node, sorted)
	}
	return append(dst, opening+2) // in ASCII brackets close two after they open
}

// respelled is a text in quotes without needless escapes, or what else is given.
func respelled(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return Quote(Unquote(raw))
}

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// AppendLines appends node i of a document that has no white space: a value on one line if it fits, otherwise its parts
// on lines of their own, indented further than indent. The outermost object or list is always broken, and the names of
// members do not count for the width; with strict they count as all that stands before the value on its line, and an
// outermost object that fits stays on its line.
func (d *Doc) AppendLines(dst []byte, i int, indent string, strict bool) []byte {
	n, kind := d.Nodes[i], d.Kind(i)
	first := i + 1
	if first == int(n.Next) {
		return append(dst, d.Raw(i)...)
	}
	several := kind == Array && d.Nodes[first].Next < n.Next && d.Kind(first) == Object // a line for each
	if !several && (strict || indent != "") && n.End-n.Start <= lineWidth {
		from, used := len(dst), len(indent)
		if strict {
			used = from - 1 - bytes.LastIndexByte(dst, '\n')
		}
		line := Compact(dst, d.Raw(i), " ")
		if len(line)-from+used <= lineWidth {
			return line
		}
		dst = line[:from]
	}
	dst = append(dst, byte(kind))
	deeper := indent + "  "
	for c := first; c < int(n.Next); c = int(d.Nodes[c].Next) {
		if c > first {
			dst = append(dst, ',')
		}
		dst = append(append(dst, '\n'), deeper...)
		if d.IsMember(c) {
			dst = append(append(dst, d.Text[d.Nodes[c].NameStart:d.Nodes[c].NameEnd]...), ": "...)
		}
		dst = d.AppendLines(dst, c, deeper, strict)
	}
	return append(append(append(dst, '\n'), indent...), byte(kind)+2) // in ASCII brackets close two after they open
}
