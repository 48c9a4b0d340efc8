package jsonedit

import "bytes"

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// AppendLines appends a document that has no white space: a value on one line if it fits, otherwise its parts on lines
// of their own, indented further than indent. The outermost object or list is always broken, and the names of members
// do not count for the width; with strict they count as all that stands before the value on its line, and an outermost
// object that fits stays on its line.
func (d *Doc) AppendLines(dst []byte, indent string, strict bool) []byte {
	return d.lines(dst, 0, indent, strict)
}

func (d *Doc) lines(dst []byte, i int, indent string, strict bool) []byte {
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
		dst = d.lines(dst, c, deeper, strict)
	}
	return append(append(append(dst, '\n'), indent...), byte(kind)+2) // in ASCII brackets close two after they open
}
