package jsonedit

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeLength is the length of what follows a backslash; 0: it is no escape.
func escapeLength(rest []byte) int {
	if len(rest) == 0 {
		return 0
	}
	if strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0 {
		return 1
	}
	if rest[0] != 'u' || len(rest) < 5 || hex4(rest[1:5]) < 0 {
		return 0
	}
	return 5
}

// hex4 reads four hexadecimal digits; -1: they are none.
func hex4(digits []byte) (r rune) {
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func (p *parser) number() bool {
	if p.next() == '-' {
		p.at++
	}
	switch c := p.next(); {
	case c == '0':
		p.at++
	case '1' <= c && c <= '9':
		p.digits()
	default:
		return false
	}
	if p.next() == '.' {
		p.at++
		if !p.digits() {
			return false
		}
	}
	if c := p.next(); c == 'e' || c == 'E' {
		p.at++
		if c := p.next(); c == '+' || c == '-' {
			p.at++
		}
		return p.digits()
	}
	return true
}

func (p *parser) digits() bool {
	start := p.at
	for c := p.next(); '0' <= c && c <= '9'; c = p.next() {
		p.at++
	}
	return p.at > start
}

// Quote writes a string as JSON. Bytes that are not UTF-8 stay as they are, which encoding/json accepts.
func Quote(s string) []byte {
	const hex = "0123456789abcdef"
	out := append(make([]byte, 0, len(s)+2), '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// Unquote reads a string that Parse accepted, as encoding/json does, except that bytes that are not UTF-8 stay.
func Unquote(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			plain := bytes.IndexByte(raw[i:], '\\')
			if plain < 0 {
				plain = len(raw) - i
			}
			b.Write(raw[i : i+plain])
			i += plain - 1
			continue
		}
		i++
		if at := strings.IndexByte("bfnrt", raw[i]); at >= 0 {
			b.WriteByte("\b\f\n\r\t"[at])
			continue
		}
		if raw[i] != 'u' {
			b.WriteByte(raw[i])
			continue
		}
		r := hex4(raw[i+1 : i+5])
		i += 4
		if rest := raw[i+1:]; utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				low = hex4(rest[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 6
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
