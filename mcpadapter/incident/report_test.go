package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

func TestReadFinding(t *testing.T) {
	for _, tc := range []struct{ report, cause, confidence, why string }{
		{goodReport, "The tool refund answered with errors.\n\nConfidence: high\n\n" +
			"Evidence: 40 of 40 calls failed between 12:00 and 12:01, no other tool was affected.", "high", "as agents write it"},
		{"## root cause:\nOut of memory\n## Confidence\n0.8\nsince all agree\n", "Out of memory", "0.8", "headings of either kind, in any letter case"},
		{"## Root Cause\r\nDisk full\r\n\r\n## Next\r\n", "Disk full", "", "lines of Windows"},
		{"# Root Cause\nno\n## Root Cause\nyes\n# End\nno", "yes", "", "the heading of level 2, up to any other"},
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

// benched is a runner whose agents do nothing and never end.
func benched(b *testing.B) *incident.Runner {
	b.Helper()
	spaces, err := incident.NewWorkspaces(b.TempDir())
	require.NoError(b, err)
	r, err := incident.NewRunner(&incident.Options{Workspaces: spaces, Grace: time.Second,
		Agent: incident.AgentFunc(func(ctx context.Context, _ incident.Job) error { <-ctx.Done(); return ctx.Err() })})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// BenchmarkBurst offers 10,000 events, of 2,000 kinds, to a runner whose agents
// are all busy.
func BenchmarkBurst(b *testing.B) {
	const burst = 10_000
	payloads := make([]json.RawMessage, burst)
	for i := range payloads {
		payloads[i] = faultOf(fmt.Sprint("tool-", i%2_000))
	}
	b.ReportAllocs()
	for b.Loop() {
		r := benched(b)
		for _, p := range payloads {
			_ = r.Offer("chaos/faults", p)
		}
		c := r.Counts()
		require.EqualValues(b, burst, c.Received)
		require.Equal(b, c.Received, c.Duplicate+c.Dropped+c.Queued+c.Running)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/event")
}

func BenchmarkDuplicate(b *testing.B) {
	r, p := benched(b), faultOf("refund")
	b.ReportAllocs()
	for b.Loop() {
		_ = r.Offer("chaos/faults", p)
	}
}
