package findings_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/findings"
)

// The examples of docs/matrices.md are found as it says, and all kinds are there.
func TestTheKindsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/matrices.md")
	require.NoError(t, err)
	call := regexp.MustCompile(`^(\w+) (\d+): (.+?)(?: \((done|none)\))?$`)
	report, err := findings.Find(nil, nil)
	require.NoError(t, err)
	kinds := map[findings.Kind]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		kind := findings.Kind(strings.Trim(cells[0], " `"))
		kinds[kind] = true
		var calls []findings.Call
		for part := range strings.SplitSeq(strings.Trim(cells[2], " `"), "; ") {
			m := call.FindStringSubmatch(part)
			require.NotNil(t, m, "%q", part)
			c := ok(m[1], fmt.Sprintf(`{"order":%s}`, m[2]))
			if m[3] != "ok" {
				c = fails(m[1], string(c.Args), m[3])
			}
			c.Effect = findings.Effect(m[4])
			calls = append(calls, c)
		}
		answer := "Order 1042 was refunded."
		if kind == findings.Fabricated {
			answer = "The tracking number is QQ-99-Z."
		}
		r, err := findings.Find(calls, &findings.Options{Tools: tools(), Answer: answer,
			Claims: []findings.Claim{{Says: `order (\d+) was refunded`, Tool: "refund"}}})
		require.NoError(t, err)
		require.Len(t, r.Of(kind), 1, kind)
		assert.Equal(t, "["+strings.TrimSpace(cells[3])+"]", fmt.Sprint(r.Of(kind)[0].Calls), kind)
	}
	for kind := range report.Counts {
		assert.True(t, kinds[kind], "%s has no row", kind)
	}
	assert.Len(t, kinds, len(report.Counts))
}
