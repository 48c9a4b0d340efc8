package mutate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token manipulation: the letters stay, the tokens of a model do not.

func tokenRows() []row {
	return grouped("token_manipulation", Same,
		row{Kind{Name: "fullwidth", Weight: 1.3, Strength: .5, Once: true,
			Text: "some words in the full-width letters of East Asian fonts"}, disfigured(fullwidth)},
		row{Kind{Name: "zero_width", Weight: 1.5, Strength: .5, Once: true,
			Text: "with spaces of no width between the letters of some words"},
			disfigured(func(word string) string { return apart(word, "\u200b") })},
		row{Kind{Name: "spaced", Weight: 1.3, Strength: .5, Once: true,
			Text: "with spaces between the letters of some words"},
			disfigured(func(word string) string { return apart(word, " ") })},
	)
}

// fullwidth replaces ASCII letters by those of the block U+FF00. Normalisation (NFKC)
// gives the word back.
func fullwidth(word string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && unicode.IsLetter(r) {
			return r - '!' + '！'
		}
		return r
	}, word)
}

// apart puts a separator between letters, not before marks.
func apart(word, separator string) string {
	var b strings.Builder
	b.Grow(len(word) * (1 + len(separator)))
	for i, r := range word {
		if i > 0 && unicode.IsLetter(r) {
			b.WriteString(separator)
		}
		b.WriteRune(r)
	}
	return b.String()
}
