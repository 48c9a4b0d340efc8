package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/text"
)

func TestFoldKeepsTheNumberOfCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		assert.Equal(t, utf8.RuneCountInString(s), utf8.RuneCountInString(text.Fold(s)))
		assert.Equal(t, text.Fold(s), text.Fold(text.Fold(s)))
	})
}

func TestFindAgreesWithEqualFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]rune("aAkK\u212AsSſßéÉ .İ")), 0, 12)
		s, part := string(letters.Draw(t, "text")), string(letters.Draw(t, "part"))
		start, end, ok := text.Find(s, text.Fold(s), text.Fold(part))
		if ok {
			assert.True(t, strings.EqualFold(s[start:end], part), "%q in %q", part, s)
		}
		naive := false
		for i := range len(s) + 1 {
			for j := i; j <= len(s); j++ {
				naive = naive || strings.EqualFold(s[i:j], part)
			}
		}
		assert.Equal(t, naive, ok, "%q in %q", part, s)
	})
}
