package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// benched is a runner whose agents do nothing and never end.
func benched(b *testing.B) *incident.Runner {
	b.Helper()
	spaces, err := incident.NewWorkspaces(b.TempDir())
	require.NoError(b, err)
	r, err := incident.NewRunner(&incident.Options{Workspaces: spaces, Grace: -1,
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
