package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestOutages(t *testing.T) {
	type incident struct {
		first, last int
		kind, sev   string
	}
	outage, degraded := timeline.Outage, timeline.Degradation
	high, medium, low := timeline.High, timeline.Medium, timeline.Low
	for _, tt := range []struct {
		why              string
		arrivals, served []int
		rule             timeline.OutageRule
		want             []incident
	}{
		{why: "all served: nothing", arrivals: []int{4, 4, 4}, served: []int{4, 4, 4}},
		{why: "exactly half is bad: at most, not less", arrivals: []int{4, 4, 4, 4, 4}, served: []int{4, 2, 4, 4, 4},
			want: []incident{{1, 1, degraded, low}}},
		{why: "just over half is not", arrivals: []int{4, 4, 4}, served: []int{4, 3, 4}},
		{why: "nothing served is an outage, and high however short", arrivals: []int{4, 4, 4}, served: []int{4, 0, 4},
			want: []incident{{1, 1, outage, high}}},
		{why: "something served in one bin of it makes it a degradation", arrivals: []int{4, 4, 4, 4, 4, 4, 4}, served: []int{4, 0, 1, 0, 4, 4, 4},
			want: []incident{{1, 3, degraded, medium}}},
		{why: "half of the window is high", arrivals: []int{4, 4, 4, 4}, served: []int{1, 1, 4, 4},
			want: []incident{{0, 1, degraded, high}}},
		{why: "two bins are low", arrivals: []int{4, 4, 4, 4, 4}, served: []int{1, 1, 4, 4, 4},
			want: []incident{{0, 1, degraded, low}}},
		{why: "a bin without arrivals breaks a streak", arrivals: []int{4, 4, 0, 4, 4, 4, 4}, served: []int{4, 0, 0, 0, 4, 4, 4},
			want: []incident{{1, 1, outage, high}, {3, 3, outage, high}}},
		{why: "short streaks can be left out", arrivals: []int{4, 4, 4, 4, 4, 4, 4}, served: []int{0, 4, 0, 0, 0, 4, 4},
			rule: timeline.OutageRule{MinBins: 3}, want: []incident{{2, 4, outage, high}}},
		{why: "another threshold", arrivals: []int{4, 4, 4}, served: []int{4, 3, 4},
			rule: timeline.OutageRule{Threshold: number(0.9)}, want: []incident{{1, 1, degraded, low}}},
		{why: "a threshold of 0 is a threshold", arrivals: []int{4, 4, 4}, served: []int{1, 0, 4},
			rule: timeline.OutageRule{Threshold: number(0)}, want: []incident{{1, 1, outage, high}}},
		{why: "throughputRatio is another name for it", arrivals: []int{4, 4, 4}, served: []int{4, 0, 4},
			rule: timeline.OutageRule{Metric: timeline.ThroughputRatio}, want: []incident{{1, 1, outage, high}}},
		// A call keeps the node busy for 20 ms, so all served is a capacity of 50 a second.
		{why: "a tenth of the largest capacity is bad", arrivals: []int{10, 10, 0, 10}, served: []int{10, 1, 0, 2},
			rule: timeline.OutageRule{Metric: timeline.Capacity}, want: []incident{{1, 1, degraded, low}}},
		{why: "a node that was busy and served nothing all along is out, whatever its largest", arrivals: []int{3, 3}, served: []int{0, 0},
			rule: timeline.OutageRule{Metric: timeline.Capacity}, want: []incident{{0, 1, outage, high}}},
		{why: "a capacity in operations a busy second", arrivals: []int{10, 10, 10}, served: []int{10, 5, 10},
			rule: timeline.OutageRule{Metric: timeline.Capacity, Threshold: number(25)}, want: []incident{{1, 1, degraded, low}}},
		{why: "latency is bad above its threshold, not at it", arrivals: []int{1, 1}, served: []int{1, 1},
			rule: timeline.OutageRule{Metric: timeline.Latency, Threshold: number(20)}},
		{why: "above it", arrivals: []int{1, 0, 1}, served: []int{1, 0, 1},
			rule: timeline.OutageRule{Metric: timeline.LatencyP95, Threshold: number(19)}, want: []incident{{0, 0, degraded, low}, {2, 2, degraded, low}}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			found, err := newRun(t, nil, perBin("a", tt.arrivals, tt.served)...).DetectOutages(timeline.Query{}, tt.rule)
			require.NoError(t, err)
			var got []incident
			for _, i := range found {
				got = append(got, incident{i.StartBin, i.EndBin, i.Type, i.Severity})
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestOutagesByBacklog(t *testing.T) {
	r := newRun(t, nil, queued("a", 0, 3, 5, 6, 5, 2, 0)...)
	found, err := r.DetectOutages(timeline.Query{}, timeline.OutageRule{Metric: timeline.Backlog, Threshold: number(4)})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, 1, found[0].StartBin, "three calls began, and none ended")
	assert.Equal(t, 4, found[0].EndBin)
	assert.Equal(t, epoch.Add(sec), found[0].StartTs)
	assert.Equal(t, epoch.Add(5*sec), found[0].EndTs)
	assert.Equal(t, 4, found[0].Bins())
	assert.Equal(t, "backlog above 4, or calls in flight and none ended, for 4 bins: 6 arrivals, 1 served, 0 errors", found[0].Details.String())
}

func TestOutageRulesAreChecked(t *testing.T) {
	r := newRun(t, nil, call("a", 0))
	for _, tt := range []struct {
		rule timeline.OutageRule
		want string
	}{
		{timeline.OutageRule{Metric: timeline.Backlog}, `timeline: threshold is missing; allowed: a number: metric backlog has no default`},
		{timeline.OutageRule{Metric: timeline.Latency}, `timeline: threshold is missing; allowed: a number: metric latency has no default`},
		{timeline.OutageRule{Metric: timeline.Busy}, `timeline: metric is "busy"; allowed: served, capacity, backlog, latency or latencyP95`},
		{timeline.OutageRule{MinBins: -1}, `timeline: minDurationBins is -1; allowed: 0 or more`},
	} {
		_, err := r.DetectOutages(timeline.Query{}, tt.rule)
		assert.EqualError(t, err, tt.want)
		_, err = r.Impact("a", timeline.Query{}, tt.rule)
		assert.EqualError(t, err, tt.want)
	}
}
