package timeline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func window(t *testing.T, r *timeline.Run, q timeline.Query, ms ...timeline.Metric) map[timeline.Metric][]timeline.Value {
	t.Helper()
	w, err := r.StateWindow(q, ms...)
	require.NoError(t, err)
	require.Len(t, w.Series, 1)
	return w.Series[0].Metrics
}

// The bins of one node, a second each, one bin for each rule.
func TestMetricsOfABin(t *testing.T) {
	at := func(start, end time.Duration) timeline.Sample {
		return timeline.Sample{Target: "a", Start: start, End: end}
	}
	r := newRun(t, nil,
		at(0, 250*ms), at(500*ms, 750*ms), // bin 0: two calls, one after the other
		// bin 1: nothing
		failed(at(2*sec, 2500*ms)),                                   // bin 2: busy, served nothing
		at(3500*ms, 5500*ms),                                         // bins 3 to 5: one call through three bins
		at(6*sec, 6500*ms), at(6*sec, 6500*ms), at(6250*ms, 6750*ms), // bin 6: overlapping calls
		at(7*sec, 7*sec), // bin 7: a call that took no time
	)
	null := func(values []timeline.Value) (names []string) {
		for _, v := range values {
			names = append(names, v.String())
		}
		return names
	}
	m := window(t, r, timeline.Query{})
	for _, tt := range []struct {
		metric timeline.Metric
		want   []string
		why    string
	}{
		{timeline.Arrivals, []string{"2", "0", "1", "1", "0", "0", "3", "1"}, "counted where they begin"},
		{timeline.Served, []string{"2", "0", "0", "0", "0", "1", "3", "1"}, "counted where they end"},
		{timeline.Errors, []string{"0", "0", "1", "0", "0", "0", "0", "0"}, "counted where they end"},
		{timeline.Backlog, []string{"0", "0", "0", "1", "1", "0", "0", "0"}, "what has begun and not ended"},
		{timeline.Latency, []string{"250", "n/a", "n/a", "n/a", "n/a", "2000", "500", "0"}, "null where nothing was served"},
		{timeline.LatencyP95, []string{"250", "n/a", "n/a", "n/a", "n/a", "2000", "500", "0"}, "null where nothing was served"},
		{timeline.Busy, []string{"0.5", "0", "0.5", "0.5", "1", "0.5", "0.75", "0"}, "time with a call in flight, counted once"},
		{timeline.Capacity, []string{"4", "n/a", "0", "0", "0", "2", "4", "n/a"}, "0 where busy and nothing served, null where idle"},
		{timeline.Utilization, []string{"0.5", "0", "0.5", "0.5", "1", "0.5", "0.75", "0"}, "a share of the bin"},
		{timeline.ThroughputRatio, []string{"1", "n/a", "0", "0", "n/a", "n/a", "1", "1"}, "null without arrivals, though something was served"},
		{timeline.RetryTax, []string{"0", "n/a", "1", "0", "n/a", "n/a", "0", "0"}, "null without attempts"},
	} {
		assert.Equal(t, tt.want, null(m[tt.metric]), "%s: %s", tt.metric, tt.why)
	}
}

func TestAnUndefinedValueIsNullInJSON(t *testing.T) {
	r := newRun(t, nil, call("a", 0), call("a", 2*sec))
	w, err := r.StateWindow(timeline.Query{}, timeline.ThroughputRatio, timeline.Arrivals)
	require.NoError(t, err)
	text, err := json.Marshal(w)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"window": {"start": "2026-03-01T12:00:00Z", "end": "2026-03-01T12:00:02Z", "binSize": "1s", "startBin": 0, "endBin": 2},
		"series": [{"nodeId": "a", "metrics": {"arrivals": [1, 0, 1], "throughputRatio": [1, null, 1]}}]
	}`, string(text))

	var values []timeline.Value
	require.NoError(t, json.Unmarshal([]byte(`[1.5, null, 0]`), &values))
	assert.Equal(t, timeline.Value(1.5), values[0])
	assert.False(t, values[1].Defined())
	assert.True(t, values[2].Defined(), "0 is a number")
	assert.Error(t, json.Unmarshal([]byte(`["x"]`), &values))
}

func TestTheWindowGivenBackAsksForItself(t *testing.T) {
	r := newRun(t, nil, shop{length: 30 * sec}.samples()...)
	q := timeline.Query{Nodes: []string{"db.query"}, Start: timeline.Bin(5), End: timeline.Bin(9)}
	first, err := r.StateWindow(q, timeline.Served)
	require.NoError(t, err)
	q.Start, q.End = timeline.At(first.Window.Start), timeline.At(first.Window.End)
	second, err := r.StateWindow(q, timeline.Served)
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

func TestClassesAreAskedTogetherOrApart(t *testing.T) {
	fast, slow, other := call("a", 0), call("a", 0), call("b", 0)
	fast.Class, slow.Class, other.Class = "fast", "slow", "slow"
	slow.End = 900 * ms
	r := newRun(t, nil, fast, slow, other)

	w, err := r.StateWindow(timeline.Query{}, timeline.Served)
	require.NoError(t, err)
	require.Len(t, w.Series, 2)
	assert.Equal(t, timeline.Series{Node: "a", Metrics: map[timeline.Metric][]timeline.Value{timeline.Served: {2}}}, w.Series[0])

	w, err = r.StateWindow(timeline.Query{Classes: []string{"fast", "slow"}}, timeline.LatencyP95)
	require.NoError(t, err)
	require.Len(t, w.Series, 3, "b has no calls of class fast")
	assert.Equal(t, "fast", w.Series[0].Class)
	assert.Equal(t, timeline.Value(20), w.Series[0].Metrics[timeline.LatencyP95][0])
	assert.Equal(t, timeline.Value(900), w.Series[1].Metrics[timeline.LatencyP95][0])

	_, err = r.StateWindow(timeline.Query{Classes: []string{"medium"}})
	assert.EqualError(t, err, `timeline: classId is "medium"; allowed: a class of this run`)
}

func TestGraph(t *testing.T) {
	llm := call("llm.chat", 0)
	llm.Type, llm.Class = timeline.NodeLLM, "fast"
	r := newRun(t, nil, append(shop{length: sec, downTo: 500 * ms}.samples(), llm)...)
	text, err := json.Marshal(r.Graph(timeline.GraphQuery{}))
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"nodes": [
			{"id": "agent", "name": "agent", "type": "agent"},
			{"id": "api.orders", "name": "api.orders", "type": "tool", "subsystemId": "api"},
			{"id": "api.price", "name": "api.price", "type": "http", "subsystemId": "api"},
			{"id": "db.query", "name": "db.query", "type": "point", "subsystemId": "db"},
			{"id": "llm.chat", "name": "llm.chat", "type": "llm", "subsystemId": "llm"}],
		"edges": [
			{"fromNodeId": "agent", "toNodeId": "api.orders", "attempts": 10, "failures": 0},
			{"fromNodeId": "agent", "toNodeId": "llm.chat", "classId": "fast", "attempts": 1, "failures": 0},
			{"fromNodeId": "api.orders", "toNodeId": "api.price", "attempts": 2, "failures": 0},
			{"fromNodeId": "api.orders", "toNodeId": "db.query", "attempts": 17, "failures": 7}],
		"subsystems": [{"id": "api", "name": "api"}, {"id": "db", "name": "db"}, {"id": "llm", "name": "llm"}],
		"classes": [{"id": "fast", "name": "fast"}]
	}`, string(text))

	assert.Len(t, r.Graph(timeline.GraphQuery{Subsystem: "db"}).Edges, 1)
	assert.Len(t, r.Graph(timeline.GraphQuery{Class: "fast"}).Nodes, 2)
	assert.Empty(t, r.Graph(timeline.GraphQuery{Subsystem: "nope"}).Nodes)
	text, err = json.Marshal(newRun(t, nil).Graph(timeline.GraphQuery{}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"nodes": [], "edges": []}`, string(text), "lists are never null")
}
