package jsonedit

import (
	"bytes"
	"math"
)

// maxDepth is the nesting that encoding/json accepts.
const maxDepth = 10000

// Parse indexes a document. ok is false for text that is not JSON, and for more than 2 GiB. The Doc keeps text.
func Parse(text []byte) (d *Doc, ok bool) { return ParseUpTo(text, maxDepth) }

// ParseUpTo is [Parse] for a document in which at most depth objects and lists lie within each other.
func ParseUpTo(text []byte, depth int) (d *Doc, ok bool) {
	if len(text) > math.MaxInt32 {
		return nil, false
	}
	most := 1 // values: a comma or an opening bracket stands before each but the first
	for _, before := range []string{",", "[", "{"} {
		most += bytes.Count(text, []byte(before))
	}
	p := parser{text: text, depth: min(depth, maxDepth), nodes: make([]Node, 0, most)}
	p.space()
	if !p.value(-1, 0, 0, 0, 0) {
		return nil, false
	}
	p.space()
	return &Doc{Text: text, Nodes: p.nodes}, p.at == len(text)
}

type parser struct {
	text  []byte
	depth int // at most
	at    int
	nodes []Node
}

func (p *parser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) space() { p.at = Space(p.text, p.at) }

// value reads one value, below parent, as its child number index.
func (p *parser) value(parent, index int32, nameStart, nameEnd, depth int) (ok bool) {
	self := len(p.nodes)
	p.nodes = append(p.nodes,
		Node{Start: int32(p.at), NameStart: int32(nameStart), NameEnd: int32(nameEnd), Parent: parent, Index: index})
	switch c := p.next(); {
	case c == '"':
		ok = p.text8()
	case c == '{' || c == '[':
		ok = depth < p.depth && p.list(int32(self), c, depth+1)
	case c == 't':
		ok = p.word("true")
	case c == 'f':
		ok = p.word("false")
	case c == 'n':
		ok = p.word("null")
	default:
		ok = p.number()
	}
	p.nodes[self].End, p.nodes[self].Next = int32(p.at), int32(len(p.nodes))
	return ok
}

// list reads what stands between brackets.
func (p *parser) list(self int32, open byte, depth int) bool {
	p.at++
	p.space()
	if p.next() == open+2 { // ']' and '}' both follow theirs by two
		p.at++
		return true
	}
	for index := int32(0); ; index++ {
		nameStart, nameEnd := 0, 0
		if open == '{' {
			nameStart = p.at
			if p.next() != '"' || !p.text8() {
				return false
			}
			nameEnd = p.at
			p.space()
			if p.next() != ':' {
				return false
			}
			p.at++
			p.space()
		}
		if !p.value(self, index, nameStart, nameEnd, depth) {
			return false
		}
		p.space()
		c := p.next()
		p.at++
		if c == open+2 {
			return true
		}
		if c != ',' {
			return false
		}
		p.space()
	}
}

func (p *parser) word(w string) bool {
	if !bytes.HasPrefix(p.text[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

// text8 reads a string: any bytes but control characters, and escapes that JSON knows.
func (p *parser) text8() bool {
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			_, size := Escape(p.text[p.at:])
			if size == 0 {
				return false
			}
			p.at += size - 1
		}
	}
	return false
}
