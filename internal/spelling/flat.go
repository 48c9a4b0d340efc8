// Package spelling finds texts that were written otherwise: in other letters, apart, in
// halves, encoded. It is the one decoder of the house.
package spelling

import (
	"strings"
	"unicode"

	"github.com/shakedown-go/shakedown/internal/text"
)

// plainLetters has letters of Latin scripts, each list before what they are without their marks.
const plainLetters = "àáâãåāăą a çćč c ďđ d èéêëēęě e ìíîïīı i ł l ñńň n òóôõøōő o ùúûūůű u ýÿ y śšş s žźż z " +
	"ä ae ö oe ü ue ß ss œ oe æ ae"

var letters = func() *strings.Replacer {
	var pairs []string
	list := strings.Fields(plainLetters)
	for i := 0; i < len(list); i += 2 {
		for _, marked := range list[i] {
			pairs = append(pairs, string(marked), list[i+1])
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Signs writes signs that look alike as one: spaces, dashes, quotation marks, full-width
// characters. It leaves out characters without width.
func Signs(s string) string { return strings.Map(sign, s) }

// Flat does what [Signs] does, folds case, and writes letters without their marks: "é" is
// "e", "ü" is "ue", "ß" is "ss".
func Flat(s string) string { return letters.Replace(text.Fold(Signs(s))) }

func sign(r rune) rune {
	switch {
	case r < 0x80:
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
