package glob

import (
	"strings"
	"unicode/utf8"
)

// A parser goes through a pattern once, from left to right, and writes the program as it goes.
type parser struct {
	pattern string
	pos     int
	steps   program
}

func parse(pattern string) (program, error) {
	p := &parser{pattern: pattern}
	switch {
	case pattern == "":
		return nil, p.fail(0, reasonEmpty)
	case len(pattern) > maxLength:
		return nil, p.fail(maxLength, reasonLong)
	case !utf8.ValidString(pattern):
		wrong := strings.ToValidUTF8(pattern, "\xff")
		return nil, p.fail(strings.IndexByte(wrong, '\xff'), reasonUTF8)
	}
	err := p.sequence(false)
	return p.program(), err
}

// program ends the program.
func (p *parser) program() program {
	steps := append(p.steps, step{kind: accept})
	for i := range steps {
		if s := &steps[i]; s.kind == take {
			s.then = make(set, steps.words())
			steps.reach(s.then, s.next)
			s.rest = s.char == anything && s.then.has(i) && s.then.has(len(steps)-1)
		}
	}
	return steps
}

func (p *parser) fail(offset int, reason string) error {
	return &SyntaxError{Pattern: p.pattern, Offset: offset, Reason: reason}
}

// take writes a step that takes a character.
func (p *parser) take(char rune) {
	p.steps = append(p.steps, step{char: char, next: len(p.steps) + 1})
}

// fork writes a step that goes on at two others.
func (p *parser) fork(next, other int) {
	p.steps = append(p.steps, step{kind: fork, next: next, other: other})
}

// sequence reads up to the end of the pattern or, inside braces, up to a comma or the closing brace.
func (p *parser) sequence(braces bool) error {
	for p.pos < len(p.pattern) {
		if braces && (p.at(',') || p.at('}')) {
			break
		}
		if err := p.element(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) element() error {
	start, here := p.pos, len(p.steps)
	switch r := p.next(); r {
	case '*':
		p.fork(here+1, here+2)
		p.take(anything)
		p.steps[here+1].next = here
	case '?':
		p.take(anything)
	case '{':
		return p.group(start)
	case '\\':
		if p.pos == len(p.pattern) {
			return p.fail(start, reasonEscape)
		}
		p.take(p.next())
	case '[', ']':
		return p.fail(start, reasonBracket)
	case '}':
		return p.fail(start, reasonBrace)
	default:
		p.take(r)
	}
	return nil
}

func (p *parser) next() rune {
	r, size := utf8.DecodeRuneInString(p.pattern[p.pos:])
	p.pos += size
	return r
}

func (p *parser) at(c byte) bool { return p.pos < len(p.pattern) && p.pattern[p.pos] == c }

// group reads alternatives, starting after the brace at start. Before each but the last stands a fork to the next one,
// behind each a fork whose two ways both lead out.
func (p *parser) group(start int) error {
	if p.at('}') {
		return p.fail(start, reasonEmptyGroup)
	}
	var ends []int
	for {
		before := len(p.steps)
		p.fork(before+1, before+1)
		if err := p.sequence(true); err != nil {
			return err
		}
		if p.pos == len(p.pattern) {
			return p.fail(start, reasonGroup)
		}
		ends = append(ends, len(p.steps))
		p.fork(0, 0)
		if p.next() == '}' {
			break
		}
		p.steps[before].other = len(p.steps)
	}
	for _, end := range ends {
		p.steps[end].next, p.steps[end].other = len(p.steps), len(p.steps)
	}
	return nil
}
