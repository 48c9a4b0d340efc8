// Package spelling finds texts that were written otherwise: in other letters, apart, in
// halves, encoded. It is the one decoder of the house.
package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
)

// Letters of Latin scripts that are compared without their marks; plainLetters has two bytes for each.
const (
	markedLetters = "àáâãåāăąçćčďđèéêëēęěìíîïīıłñńňòóôõøōőùúûūůűýÿśšşžźżäöüßœæ"
	plainLetters  = "a a a a a a a a c c c d d e e e e e e e i i i i i i l n n n o o o o o o o u u u u u u y y " +
		"s s s z z z aeoeuessoeae"
)

// Signs writes signs that look alike as one: spaces, dashes, quotation marks, full-width
// characters. It leaves out characters without width.
func Signs(s string) string { return strings.Map(sign, s) }

// Flat does what [Signs] does, folds case, and writes letters without their marks: "é" is
// "e", "ü" is "ue", "ß" is "ss".
func Flat(s string) string {
	var b strings.Builder
	for _, r := range text.Fold(Signs(s)) {
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
		} else if before, _, marked := strings.Cut(markedLetters, string(r)); marked {
			i := 2 * utf8.RuneCountInString(before)
			b.WriteString(strings.TrimSuffix(plainLetters[i:i+2], " "))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func sign(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		return r - 0xFEE0
	case unicode.In(r, unicode.Cf, unicode.Mn): // without width, variants of emoji among them
		return -1
	case unicode.In(r, unicode.Zs):
		return ' '
	case r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n'
	case unicode.In(r, unicode.Pd), r == '\u2212', r == '\u2043':
		return '-'
	case strings.ContainsRune("’‘‛ʼ′´", r):
		return '\''
	case strings.ContainsRune("“”„‟″", r):
		return '"'
	}
	return r
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
