package timeline_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestTotals(t *testing.T) {
	none := timeline.Value(math.NaN())
	s := timeline.Series{Node: "n", Class: "c", Metrics: map[timeline.Metric][]timeline.Value{
		timeline.Arrivals: {3, 1, 0}, timeline.Served: {2, 0, 0}, timeline.Errors: {1, 1, 0}, timeline.Attempts: {5, 3, 0},
		timeline.Failures: {3, 3, 0}, timeline.Backlog: {0, 2, 1}, timeline.Latency: {40, none, none},
	}}
	got := s.Totals()
	assert.Equal(t, timeline.Totals{NodeID: "n", ClassID: "c", Arrivals: 4, Served: 2, Errors: 2, Attempts: 8, Failures: 6,
		MaxBacklog: 2, WorstLatencyMs: 40, ThroughputRatio: 0.5, RetryTax: 0.75}, got)

	idle := timeline.Series{Metrics: map[timeline.Metric][]timeline.Value{timeline.Arrivals: {0}, timeline.Latency: {none}}}.Totals()
	assert.False(t, idle.ThroughputRatio.Defined(), "nothing arrived")
	assert.False(t, idle.RetryTax.Defined(), "nothing was attempted")
	assert.False(t, idle.WorstLatencyMs.Defined(), "nothing was served")

	assert.Len(t, timeline.Metrics(), 13)
}
