package incident_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

func TestReadFinding(t *testing.T) {
	for _, tc := range []struct{ report, cause, confidence, why string }{
		{goodReport, "The tool refund answered with errors.\n\nConfidence: high\n\n" +
			"Evidence: 40 of 40 calls failed between 12:00 and 12:01, no other tool was affected.", "high", "as agents write it"},
		{"## root cause:\nOut of memory\n## Confidence\n0.8\nsince all agree\n", "Out of memory", "0.8", "headings of either kind, in any letter case"},
		{"## Root Cause\r\nDisk full\r\n\r\n## Next\r\n", "Disk full", "", "lines of Windows"},
		{"# Root Cause\nno\n## Root Cause\nyes\n# End\nno", "yes", "", "the heading of level 2, up to any other"},
		{"```\n## Root Cause\nquoted\n```\n## Root Cause\nreal\n", "real", "", "what is quoted is no heading"},
		{"## Root Cause\nfirst\n## Root Cause\nsecond\n", "first", "", "the first counts"},
		{"- **Confidence**: medium\n", "", "medium", "in a list"},
		{"**Confidence:** *low*\n", "", "low", "in bold"},
		{"nothing of the kind", "", "", "a report without either"},
		{"", "", "", "no report"},
	} {
		assert.Equal(t, incident.Finding{RootCause: tc.cause, Confidence: tc.confidence}, incident.ReadFinding([]byte(tc.report)), tc.why)
	}
}

func FuzzReadFinding(f *testing.F) {
	f.Add([]byte(goodReport))
	f.Add([]byte("```\n## Root Cause"))
	f.Fuzz(func(t *testing.T, report []byte) {
		found := incident.ReadFinding(report)
		assert.LessOrEqual(t, len(found.RootCause), len(report)+2*len(report))
		assert.NotContains(t, found.Confidence, "\n")
	})
}
