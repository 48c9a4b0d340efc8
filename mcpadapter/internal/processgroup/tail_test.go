package processgroup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The end of an output begins with a whole line, so that no half of a secret is left of a cut.
func TestTail(t *testing.T) {
	long := strings.Repeat("x", maxOutput)
	for why, tc := range map[string]struct{ written, want string }{
		"all of it":                   {"a\nb", "a\nb"},
		"half a line goes":            {"secret" + strings.Repeat("x", 10) + "\n" + long[:maxOutput-12] + "\nend", "[17 bytes before this]\n" + long[:maxOutput-12] + "\nend"},
		"8 KiB of a line without end": {"secret" + long, "[8198 bytes before this]\n" + long[:maxOutput-maxLine]},
	} {
		tail := new(Tail)
		_, _ = tail.Write([]byte(tc.written))
		assert.Equal(t, tc.want, tail.String(), why)
	}
}
