package glob

import (
	"strings"
	"unicode/utf8"
)

// A node is a piece of a pattern. The kinds up to star take characters from a name; the last two are made of parts.
type node struct {
	kind  kind
	char  rune
	class []span
	parts []node
}

type kind uint8

const (
	char kind = iota
	anyChar
	inClass
	notInClass
	star
	sequence
	alternatives
)

// A span is an inclusive range of characters.
type span struct{ low, high rune }

// text returns the characters of a pattern that is made of nothing else.
func (n *node) text() (string, bool) {
	var b strings.Builder
	for _, part := range n.parts {
		if part.kind != char {
			return "", false
		}
		b.WriteRune(part.char)
	}
	return b.String(), true
}

// A parser goes through a pattern once, from left to right.
type parser struct {
	pattern string
	pos     int
}

func parse(pattern string) (node, error) {
	p := &parser{pattern: pattern}
	switch {
	case pattern == "":
		return node{}, p.fail(0, reasonEmpty)
	case len(pattern) > maxLength:
		return node{}, p.fail(maxLength, reasonLong)
	case !utf8.ValidString(pattern):
		return node{}, p.fail(len(validPrefix(pattern)), reasonUTF8)
	}
	return p.sequence(false)
}

func validPrefix(s string) string {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return s[:i]
		}
	}
	return s
}

func (p *parser) fail(offset int, reason string) error {
	return &SyntaxError{Pattern: p.pattern, Offset: offset, Reason: reason}
}

// sequence reads up to the end of the pattern or, inside braces, up to a comma or the closing brace.
func (p *parser) sequence(braces bool) (node, error) {
	n := node{kind: sequence}
	for p.pos < len(p.pattern) {
		if c := p.pattern[p.pos]; braces && (c == ',' || c == '}') {
			break
		}
		part, err := p.element()
		if err != nil {
			return node{}, err
		}
		n.parts = append(n.parts, part)
	}
	return n, nil
}

func (p *parser) element() (node, error) {
	start := p.pos
	switch r := p.next(); r {
	case '*':
		return node{kind: star}, nil
	case '?':
		return node{kind: anyChar}, nil
	case '[':
		return p.class(start)
	case '{':
		return p.group(start)
	case '\\':
		r, err := p.escaped()
		return node{char: r}, err
	case ']':
		return node{}, p.fail(start, reasonBracket)
	case '}':
		return node{}, p.fail(start, reasonBrace)
	default:
		return node{char: r}, nil
	}
}

func (p *parser) next() rune {
	r, size := utf8.DecodeRuneInString(p.pattern[p.pos:])
	p.pos += size
	return r
}

func (p *parser) at(c byte) bool { return p.pos < len(p.pattern) && p.pattern[p.pos] == c }

// escaped reads the character after a backslash.
func (p *parser) escaped() (rune, error) {
	if p.pos == len(p.pattern) {
		return 0, p.fail(p.pos-1, reasonEscape)
	}
	return p.next(), nil
}

// group reads alternatives, starting after the brace at start.
func (p *parser) group(start int) (node, error) {
	n := node{kind: alternatives}
	if p.at('}') {
		return node{}, p.fail(start, reasonEmptyGroup)
	}
	for {
		part, err := p.sequence(true)
		if err != nil {
			return node{}, err
		}
		n.parts = append(n.parts, part)
		if p.pos == len(p.pattern) {
			return node{}, p.fail(start, reasonGroup)
		}
		if p.next() == '}' {
			return n, nil
		}
	}
}
