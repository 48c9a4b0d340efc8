package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The quick looks at a text never exclude what a search would find.
func TestQuickLooksExcludeNothing(t *testing.T) {
	names := slices.Concat(secretNames, secretWords)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "my_", "x-", "é_", "A."}).Draw(t, "before"))
		for _, c := range name {
			c = rapid.SampledFrom([]rune{c, c - 'a' + 'A'}).Draw(t, "case")
			b.WriteRune(c)
			if !slices.Contains(secretWords, name) {
				b.WriteString(rapid.SampledFrom([]string{"", "", "", "-", "_"}).Draw(t, "between"))
			}
		}
		if len(b.String()) <= maxName {
			assert.True(t, SecretName(b.String()), "%q", b.String())
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abeipsk_-. BE")), 0, 40, -1).Draw(t, "text") +
			rapid.SampledFrom([]string{"", "Basic", "BEARER"}).Draw(t, "end")
		small := strings.ToLower(text)
		if strings.Contains(small, "bearer") || strings.Contains(small, "basic") {
			assert.True(t, hasScheme(text), "%q", text)
		}
	})
}
