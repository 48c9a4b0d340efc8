package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// A name of secrets is known in any case, with hyphens and underscores within, and behind other words.
func TestSecretNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "my_", "x-", "é_", "A."}).Draw(t, "before"))
		for _, c := range rapid.SampledFrom(secretNames).Draw(t, "name") {
			b.WriteRune(rapid.SampledFrom([]rune{c, c - 'a' + 'A'}).Draw(t, "case"))
			b.WriteString(rapid.SampledFrom([]string{"", "", "", "-", "_"}).Draw(t, "between"))
		}
		if len(b.String()) <= maxName {
			assert.True(t, SecretName(b.String()), "%q", b.String())
		}
	})
	for name, want := range map[string]bool{"pass": true, "DB_PASS": true, "x.sig": true, "otp": true, "bypass": false,
		"compass": false, "tokens": false, "author": false, "": false} {
		assert.Equal(t, want, SecretName(name), name)
	}
}
