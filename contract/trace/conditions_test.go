package trace

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestScaledLimitsAndDelays(t *testing.T) {
	for _, tt := range []struct {
		why              string
		capacity, delay  float64
		limit, wantLimit int
		pause, wantPause time.Duration
	}{
		{"as it was", 1, 1, 7, 7, time.Second, time.Second},
		{"half", 0.5, 0.5, 8, 4, time.Second, 500 * time.Millisecond},
		{"to the nearest", 0.5, 0.5, 7, 4, 7, 4},
		{"never nothing", 0.001, 0, 10, 1, time.Hour, 0},
		{"no limit stays none", 0.5, 1, 0, 0, 0, 0},
		{"beyond what a number can be", 1000, 1000, math.MaxInt, math.MaxInt, math.MaxInt64, math.MaxInt64},
		{"a delay below zero stays below", 1, 1000, -1, -1, math.MinInt64, math.MinInt64},
	} {
		c := newConditions(42, Parameters{CapacityMultiplier: &tt.capacity, RetryDelayMultiplier: &tt.delay})
		assert.Equal(t, tt.wantLimit, c.Limit(tt.limit), tt.why)
		assert.Equal(t, tt.wantPause, c.RetryDelay(tt.pause), tt.why)
		assert.Equal(t, uint64(42), c.Seed())
	}
}

func TestScalingKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Float64Range(0.001, 1000).Draw(t, "multiplier")
		c := newConditions(0, Parameters{CapacityMultiplier: &m, RetryDelayMultiplier: &m})
		a, b := rapid.IntRange(1, math.MaxInt).Draw(t, "a"), rapid.IntRange(1, math.MaxInt).Draw(t, "b")
		require.LessOrEqual(t, c.Limit(min(a, b)), c.Limit(max(a, b)))
		require.LessOrEqual(t, c.RetryDelay(time.Duration(min(a, b))), c.RetryDelay(time.Duration(max(a, b))))
		require.GreaterOrEqual(t, c.Limit(a), 1)
	})
}

func TestTheJSONOfARequest(t *testing.T) {
	var q ScenarioRequest
	require.NoError(t, json.Unmarshal([]byte(`{"baseRunId":"run-1","label":"db down","parameters":{
		"capacityMultiplier":0.5,"outageInjection":{"nodeId":"db","start":"2026-05-04T12:00:00Z","durationBins":3}}}`), &q))
	assert.Equal(t, 0.5, *q.Parameters.CapacityMultiplier)
	assert.Nil(t, q.Parameters.RetryDelayMultiplier)
	assert.Equal(t, timeline.At(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)), q.Parameters.OutageInjection.Start)
	text, err := json.Marshal(q)
	require.NoError(t, err)
	assert.JSONEq(t, `{"baseRunId":"run-1","label":"db down","parameters":{"capacityMultiplier":0.5,
		"outageInjection":{"nodeId":"db","start":"2026-05-04T12:00:00Z","durationBins":3}}}`, string(text))
	assert.Equal(t, map[string]string{"baseRunId": "b", "seed": "7", "capacityMultiplier": "0.5", "outageInjection": "db from 2026-05-04T12:00:00Z for 3 bins"},
		q.Parameters.metadata(Entry{ID: "b", Seed: 7}))
}
