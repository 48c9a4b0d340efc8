package retryable

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// FuzzParts: the parts only save time.
func FuzzParts(f *testing.F) {
	for _, seed := range append(passingParts[:], rejectedParts[:]...) {
		f.Add("the " + seed)
	}
	for _, seed := range []string{"time-out", "the key has expired", "unsupported", "not permitted", "retry in 3s", "cancelled",
		"rate limited", "locked", "unknown tool", "invalid api key", "a connection reset", "unimplemented"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToLower(text)
		assert.Equal(t, passing.MatchString(text), matches(text, passingParts[:], passing))
		assert.Equal(t, rejected.MatchString(text), matches(text, rejectedParts[:], rejected))
	})
}
