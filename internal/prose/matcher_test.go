package prose

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// A matcher finds what a regular expression of the same alternatives finds at the
// beginning of a word or at a sign.
func TestAMatcherFindsWhatARegularExpressionFinds(t *testing.T) {
	for _, pattern := range []string{`no (?:way|one)|not|\w+n't|5[0-9]`, `ab|a b|[xy]+z|é`, `(?i)Ab|C`, `\w*a\b|b{2}`,
		`\bno(?:t|pe)?|(?:is|no) (?:\w+ )?way|(?:a|xz)b?`} {
		words, alone := NewMatcher(pattern, true), NewMatcher(pattern, false)
		flags := ""
		if pattern[:2] == "(?" {
			flags, pattern = pattern[:4], pattern[4:]
		}
		whole := regexp.MustCompile(flags + `(?:^|[^\pL\pN_])(?:` + pattern + `)(?:$|[^\pL\pN_])`)
		begun := regexp.MustCompile(flags + `(?:^|[^\pL\pN_]|\b)(?:` + pattern + `)`)
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringMatching(`(no way|no one|not |isn't|55|5| |ab|a b|xz|xyz|, c|é|C|b|a|B|_|\.){0,8}`).Draw(t, "text")
			assert.Equal(t, whole.MatchString(text), words.MatchString(text), "%s in %q", pattern, text)
			if alone.MatchString(text) {
				assert.True(t, begun.MatchString(text), "%s in %q", pattern, text)
			}
			for _, at := range alone.FindAllStringIndex(text, -1) {
				assert.Less(t, at[0], at[1])
			}
		})
	}
}
