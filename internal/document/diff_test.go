package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDiffer(t *testing.T) {
	for _, row := range []struct{ why, other, is, reason, want string }{
		{"equal texts", "Refunded 1042.", "Refunded 1042.", "", "Refunded 1042."},
		{"words, not letters", "Refund R-1 was made.", "Refund R-2 was made.", "", "Refund R-[-1-]{+2+} was made."},
		{"what only one has", "", "Hello.", "", "{+Hello.+}"},
		{"an answer that is gone", "Hello.", "", "", "[-Hello.-]"},
		{"what the reason quotes, however it is spelled", "It is SHIPPED.", "It is SHIPPED.", `it says "shipped"`, "It is >>SHIPPED<<."},
		{"what the reason misses is marked where it was", "Order 1042 is done.", "It is done.", `it does not contain "1042"`, "[-Order >>1042<<-]{+It+} is done."},
		{"a quote that shows where another is", "a", "so Debug: x", `"debug" at byte 3: …"so Debug: x"…`, "[-a-]{+so +}{+>>Debug<<+}{+: x+}"},
		{"a number in no quotes is no objection", "", "1042", "1042 is there", "{+1042+}"},
	} {
		got := strings.ReplaceAll(partsText(Differ(&row.other, row.is, row.reason)), "+}{+", "")
		want := strings.ReplaceAll(row.want, "+}{+", "")
		assert.Equal(t, want, strings.ReplaceAll(got, "-][-", ""), row.why)
	}
	assert.Equal(t, "say >>no<<", partsText(Differ(nil, "say no", `"no"`)), "nothing to compare with")
	assert.Equal(t, `\x1b[2J \u202e`, partsText(Differ(nil, "\x1b[2J \u202e", "")), "what cannot be printed is shown")
}

// Of long texts the beginnings are compared, and the result says so and is bounded.
func TestDifferIsBounded(t *testing.T) {
	a, b := strings.Repeat("a b ", 5000), strings.Repeat("c d ", 5000)
	got := partsText(Differ(&a, b, `"d"`))
	assert.Less(t, len(got), 3*MaxText)
	assert.Contains(t, got, "[not compared from here]")
	assert.Contains(t, got, "more bytes")
}
