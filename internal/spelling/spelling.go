package spelling

import (
	"encoding/base64"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	whole    = 6 // the least letters and digits by which a text is found apart or encoded
	piece    = 4 // the least of one of several pieces
	run      = 8 // the least of a run that is a part
	encoded  = 8 // the least characters of what may be encoded
	depth    = 3 // encodings within one another
	maxParts = 4 // pieces of one text
)

// Readings returns a text and what it may encode: JSON and HTML escapes, percent signs,
// base64 and hexadecimal, also within one another. The first is the text itself.
func Readings(s string) []string {
	list := []string{s}
	level := list
	for range depth {
		var next []string
		for _, t := range level {
			next = append(next, decodings(t)...)
		}
		list, level = append(list, next...), next
	}
	return list
}

// escape matches a character that is written as an escape: of JSON, of programs, of URLs.
var escape = regexp.MustCompile(`\\+u00[0-7][0-9a-fA-F]|\\+x[0-7][0-9a-fA-F]|%(?:25)*[0-7][0-9a-fA-F]`)

// decodings returns what a text encodes in one step.
func decodings(s string) (list []string) {
	if strings.ContainsAny(s, `\%&`) {
		plain := escape.ReplaceAllStringFunc(s, func(e string) string {
			c, _ := strconv.ParseUint(e[len(e)-2:], 16, 8) // two hexadecimal digits, as the form has it
			return string(rune(c))
		})
		if plain = html.UnescapeString(plain); plain != s {
			list = append(list, plain)
		}
	}
	var b64, hex strings.Builder
	for _, row := range rows(s, base64Digit, "\r\n") {
		for skip := range 4 { // a row may begin within other text
			if skip < len(row) {
				writeText(&b64, fromBase64(row[skip:]))
			}
		}
	}
	for _, row := range rows(s, hexDigit, " :-,\r\n") {
		for skip := range 2 {
			writeText(&hex, fromHex(row[skip:]))
		}
	}
	for _, b := range []string{b64.String(), hex.String()} {
		if b != "" {
			list = append(list, b)
		}
	}
	return list
}

// writeText writes what is text among bytes: rows of at least whole printable characters, a line
// each.
func writeText(b *strings.Builder, raw []byte) {
	start := 0
	for at := 0; at <= len(raw); {
		r, size := utf8.DecodeRune(raw[at:])
		if at < len(raw) && (unicode.IsPrint(r) || r == '\n' || r == '\t') && (r != utf8.RuneError || size > 1) {
			at += size
			continue
		}
		if at-start >= whole {
			b.Write(raw[start:at])
			b.WriteByte('\n')
		}
		at++
		start = at
	}
}

// rows returns the characters of s that are digits of a code, in rows of at least encoded.
// Single characters of between do not part a row.
func rows(s string, digit func(byte) bool, between string) (list []string) {
	var row []byte
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && digit(s[i]):
			row = append(row, s[i])
		case i+1 < len(s) && i > 0 && strings.IndexByte(between, s[i]) >= 0 && digit(s[i-1]) && digit(s[i+1]):
		default:
			if len(row) >= encoded {
				list = append(list, string(row))
			}
			row = row[:0]
		}
	}
	return list
}

func base64Digit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func fromBase64(row string) []byte {
	row = strings.NewReplacer("-", "+", "_", "/").Replace(row)
	if len(row)%4 == 1 {
		row = row[:len(row)-1]
	}
	raw, _ := base64.RawStdEncoding.DecodeString(row)
	return raw
}

func fromHex(row string) []byte {
	raw := make([]byte, 0, len(row)/2)
	for ; len(row) >= 2; row = row[2:] {
		c, _ := strconv.ParseUint(row[:2], 16, 8)
		raw = append(raw, byte(c))
	}
	return raw
}

// A Finder finds texts that must not be told. It is safe for concurrent use.
type Finder struct {
	names []string
	forms []string // squeezed; of a short one the flat text
}

// New returns a finder of these texts. Nobody is told one that is empty.
func New(texts []string) Finder {
	f := Finder{names: slices.Clone(texts)}
	for _, name := range texts {
		form := Squeeze(name)
		if utf8.RuneCountInString(form) < whole {
			form = Flat(name)
		}
		f.forms = append(f.forms, form)
	}
	return f
}

// A Text is an answer or the like, read once for all that is searched in it.
type Text struct {
	flat     string
	readings []string // squeezed, the plain one first
}

// Read prepares a text for the search.
func Read(s string) Text {
	t := Text{flat: Flat(s)}
	for _, reading := range Readings(s) {
		t.readings = append(t.readings, Squeeze(reading))
	}
	return t
}

// Names returns the texts that f finds.
func (f Finder) Names() []string { return f.names }

// In returns which of its texts are in t and not in asked: as they are, in another case,
// with signs between their characters, encoded, backwards, by ROT13, or in two to four
// pieces of at least four characters, in their order.
func (f Finder) In(t, asked Text) (found []string) {
	for i, form := range f.forms {
		if form != "" && !told(form, asked) && (told(form, t) || inPieces(form, t.readings[0])) {
			found = append(found, f.names[i])
		}
	}
	return found
}

func told(form string, t Text) bool {
	if strings.Contains(t.flat, form) {
		return true
	}
	if utf8.RuneCountInString(form) < whole {
		return false
	}
	backwards := []rune(form)
	slices.Reverse(backwards)
	turned := strings.Map(rot13, form)
	return strings.Contains(t.readings[0], string(backwards)) || strings.Contains(t.readings[0], turned) ||
		slices.ContainsFunc(t.readings, func(r string) bool { return strings.Contains(r, form) })
}

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

// inPieces reports whether pieces of a text follow one another that make all of form.
func inPieces(form, s string) bool {
	for range maxParts {
		n := min(len(form), longest(form, s))
		if n < piece {
			return false
		}
		at := strings.Index(s, form[:n])
		if form, s = form[n:], s[at+n:]; form == "" {
			return true
		}
		if len(form) < piece { // the last piece begins within the one before it
			return false
		}
	}
	return false
}

// longest returns the length of the longest beginning of form that is in s, or 0 if that is
// shorter than a piece. It leaves no rest that is shorter.
func longest(form, s string) int {
	for n := len(form); n >= piece; n-- {
		if rest := len(form) - n; (rest == 0 || rest >= piece) && strings.Contains(s, form[:n]) {
			return n
		}
	}
	return 0
}

// Part returns which of its texts are in part in t and not in asked: a run of at least
// eight of their characters that is at least share of them.
func (f Finder) Part(t, asked Text, share float64) (found []string) {
	for i, form := range f.forms {
		n := max(run, int(share*float64(len(form))+0.999))
		for at := 0; at+n <= len(form); at++ {
			part := form[at : at+n]
			if slices.ContainsFunc(t.readings, func(r string) bool { return strings.Contains(r, part) }) &&
				!strings.Contains(asked.readings[0], part) {
				found = append(found, f.names[i])
				break
			}
		}
	}
	return found
}
