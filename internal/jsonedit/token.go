package jsonedit

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unit is the UTF-16 code unit that \u and four hexadecimal digits write; -1: it is none.
func unit(text []byte) (r rune) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Escape decodes the escape at the front of a text, a backslash first, and returns its length; 0: it is none. A lone
// surrogate is U+FFFD, as encoding/json has it.
func Escape(text []byte) (r rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	switch r = unit(text); {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if pair := utf16.DecodeRune(r, unit(text[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
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
func Quote(s string) []byte { return AppendQuote(make([]byte, 0, len(s)+2), s) }

// AppendQuote is [Quote] that appends. It escapes what encoding/json escapes outside of HTML: U+2028 and U+2029 too,
// which end lines in programs.
func AppendQuote(dst []byte, s string) []byte {
	const hex, letters = "0123456789abcdef", "bfnrt"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c, size := s[i], 1
		if c == '\xe2' && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")) {
			size = len("\u2028")
		} else if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		letter := strings.IndexByte("\b\f\n\r\t", c)
		switch {
		case size > 1:
			dst = append(dst, 'u', '2', '0', '2', hex[s[i+2]&15])
		case letter >= 0:
			dst = append(dst, letters[letter])
		case c < ' ':
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
		i += size - 1
		from = i + 1
	}
	return append(append(dst, s[from:]...), '"')
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
		r, size := Escape(raw[i:])
		b.WriteRune(r)
		i += max(size, 1) - 1
	}
	return b.String()
}
