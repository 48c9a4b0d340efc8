// Package spelling finds texts that were written otherwise: in other letters, apart, in
// halves, encoded. It is the one decoder of the house.
package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
)

// The letters of Latin scripts that are compared without their marks; plainLetters has
// two bytes for each.
const (
	markedLetters = "àáâãåāăąçćčďđèéêëēęěìíîïīıłñńňòóôõøōőùúûūůűýÿšśşžźżäöüßœæ"
	plainLetters  = "a a a a a a a a c c c d d e e e e e e e i i i i i i l n n n o o o o o o o u u u u u u y y " +
		"s s s z z z aeoeuessoeae"
)

// Signs writes signs that look alike as one: spaces, dashes, quotation marks, full-width
// characters. It leaves out characters without width.
func Signs(s string) string { return flat(s, false) }

// Flat does what [Signs] does, folds case, and writes letters without their marks: "é" is
// "e", "ü" is "ue", "ß" is "ss".
func Flat(s string) string { return flat(s, true) }

func flat(s string, letters bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf && letters:
			b.WriteByte(byte(unicode.ToLower(r)))
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			b.WriteString(flatRune(r, letters))
		}
	}
	return b.String()
}

func flatRune(r rune, letters bool) string {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		r -= 0xFEE0
		if letters {
			r = unicode.ToLower(r)
		}
		return string(r)
	case unicode.In(r, unicode.Cf), r >= 0xFE00 && r <= 0xFE0F: // without width; variants of emoji
		return ""
	case unicode.In(r, unicode.Zs):
		return " "
	case r == '\u2028', r == '\u2029', r == '\u0085':
		return "\n"
	case unicode.In(r, unicode.Pd), r == '\u2212', r == '\u2043':
		return "-"
	case strings.ContainsRune("’‘‛ʼ′´", r):
		return "'"
	case strings.ContainsRune("“”„‟″", r):
		return `"`
	case !letters:
		return string(r)
	case unicode.In(r, unicode.Mn):
		return ""
	}
	r = text.FoldRune(r)
	if i := strings.IndexRune(markedLetters, r); i >= 0 {
		i = 2 * utf8.RuneCountInString(markedLetters[:i])
		return strings.TrimSuffix(plainLetters[i:i+2], " ")
	}
	return string(r)
}

// Squeeze returns the letters and digits of s as [Flat] writes them.
func Squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, Flat(s))
}
