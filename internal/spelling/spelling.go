package spelling

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"math"
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
	var b64, hexed strings.Builder
	urls := strings.NewReplacer("-", "+", "_", "/")
	for _, row := range rows(s, base64Digits, "\r\n") {
		row = urls.Replace(row)
		for skip := range 4 { // a row may begin within other text
			raw, _ := base64.RawStdEncoding.DecodeString(row[skip:]) // up to what does not fit
			writeText(&b64, raw)
		}
	}
	for _, row := range rows(s, hexDigits, " :-,\r\n") {
		for skip := range 2 {
			raw, _ := hex.DecodeString(row[skip:])
			writeText(&hexed, raw)
		}
	}
	for _, b := range []string{b64.String(), hexed.String()} {
		if b != "" {
			list = append(list, b)
		}
	}
	return list
}

const (
	hexDigits    = "0123456789abcdefABCDEF"
	base64Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/-_"
)

// rows returns the digits of a code in s, in rows of at least encoded. Single characters of
// between do not part a row.
func rows(s, digits, between string) (list []string) {
	var digit, sign [256]bool
	for _, c := range []byte(digits) {
		digit[c] = true
	}
	for _, c := range []byte(between) {
		sign[c] = true
	}
	var row []byte
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && digit[s[i]]:
			row = append(row, s[i])
		case i+1 < len(s) && i > 0 && sign[s[i]] && digit[s[i-1]] && digit[s[i+1]]:
		default:
			if len(row) >= encoded {
				list = append(list, string(row))
			}
			row = row[:0]
		}
	}
	return list
}

// writeText writes what is text among bytes: rows of at least whole printable bytes, a line each.
func writeText(b *strings.Builder, raw []byte) {
	unprinted := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' || r == utf8.RuneError }
	for row := range bytes.FieldsFuncSeq(raw, unprinted) {
		if len(row) >= whole {
			b.Write(row)
			b.WriteByte('\n')
		}
	}
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

// In returns which of its texts are in t and not in asked: as they are, in another case,
// with signs between their characters, encoded, backwards, by ROT13, or in two to four
// pieces of at least four characters, in their order. It also finds one of which a run is
// there that is at least share of it, and eight characters.
func (f Finder) In(t, asked Text, share float64) (found []string) {
	for i, form := range f.forms {
		if form != "" && !told(form, asked) &&
			(told(form, t) || inPieces(form, t.readings[0]) || inPart(form, t, asked, share)) {
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

// inPart reports whether a run of a text is in t and not in asked.
func inPart(form string, t, asked Text, share float64) bool {
	n := max(run, int(math.Ceil(share*float64(len(form)))))
	for at := 0; at+n <= len(form); at++ {
		part := form[at : at+n]
		if slices.ContainsFunc(t.readings, func(r string) bool { return strings.Contains(r, part) }) &&
			!strings.Contains(asked.readings[0], part) {
			return true
		}
	}
	return false
}
