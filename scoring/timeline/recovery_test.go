package timeline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestRecovery(t *testing.T) {
	served := func(perSecond ...int) []timeline.Sample { return perBin("a", perSecond, perSecond) }
	bin := timeline.Bin
	for _, tt := range []struct {
		why     string
		samples []timeline.Sample
		options timeline.RecoveryOptions
		at      int // -1: none
		notes   string
	}{
		{why: "the first bin without a backlog, after there was one",
			samples: queued("a", 0, 0, 3, 5, 2, 0, 0), options: timeline.RecoveryOptions{OutageStart: bin(2)}, at: 5},
		{why: "bins before the backlog built up are not a recovery",
			samples: queued("a", 0, 0, 0, 5, 2, 0, 0), options: timeline.RecoveryOptions{OutageStart: bin(1)}, at: 5},
		{why: "a tolerance lets some backlog be", samples: queued("a", 0, 0, 3, 5, 2, 0, 0),
			options: timeline.RecoveryOptions{OutageStart: bin(2), Tolerance: number(2)}, at: 4},
		{why: "never unwell", samples: queued("a", 0, 0, 0), at: -1,
			notes: "nothing to recover from: backlog at most 0 in every bin 0 to 2."},
		{why: "not within the lookahead", samples: queued("a", 0, 0, 3, 5, 2, 0, 0), at: -1,
			options: timeline.RecoveryOptions{OutageStart: bin(2), LookaheadEnd: bin(4)},
			notes:   "not recovered by bin 4: never backlog at most 0 after it had not been."},
		{why: "flapping is noted, the first recovery counts", samples: queued("a", 0, 3, 0, 3, 0, 1, 0), at: 2,
			notes: "flapping: unwell again 2 times after the first recovery, recovered at the end."},
		{why: "and how it ended", samples: queued("a", 0, 3, 0, 3, 0), options: timeline.RecoveryOptions{LookaheadEnd: bin(3)}, at: 2,
			notes: "flapping: unwell again 1 times after the first recovery, not recovered at the end."},
		{why: "errors can fall to zero as well", samples: perBin("a", []int{4, 4, 4, 4}, []int{4, 2, 0, 4}),
			options: timeline.RecoveryOptions{BasedOn: timeline.Errors}, at: 3},
		{why: "served is again as before, within a tenth", samples: served(20, 20, 20, 4, 17, 18, 20),
			options: timeline.RecoveryOptions{OutageStart: bin(3), BasedOn: timeline.Served, Definition: timeline.Baseline}, at: 5},
		{why: "above the tenth is not as before either", samples: served(20, 20, 20, 4, 30, 18, 20),
			options: timeline.RecoveryOptions{OutageStart: bin(3), BasedOn: timeline.Served, Definition: timeline.Baseline}, at: 5},
		{why: "another tolerance", samples: served(20, 20, 20, 4, 10, 18, 20),
			options: timeline.RecoveryOptions{OutageStart: bin(3), BasedOn: timeline.Served, Definition: timeline.Baseline, Tolerance: number(0.5)}, at: 4},
		{why: "another baseline", samples: served(4, 20, 20, 4, 10, 18, 20), at: 6,
			options: timeline.RecoveryOptions{OutageStart: bin(3), BasedOn: timeline.Served, Definition: timeline.Baseline,
				BaselineStart: bin(1), BaselineEnd: bin(2), Tolerance: number(0.05)}},
		{why: "more capacity than before is recovered", at: 3,
			samples: append(perBin("a", []int{10, 10, 10}, []int{5, 5, 1}), perBin("a", []int{0, 0, 0, 10}, []int{0, 0, 0, 10})...),
			options: timeline.RecoveryOptions{OutageStart: bin(2), BasedOn: timeline.Capacity, Definition: timeline.Baseline}},
		{why: "less latency than before is recovered; bins without any count neither way", at: 4,
			samples: append(served(2, 2), timeline.Sample{Target: "a", Start: 2 * sec, End: 2500 * ms},
				timeline.Sample{Target: "a", Start: 4 * sec, End: 4*sec + ms}),
			options: timeline.RecoveryOptions{OutageStart: bin(2), BasedOn: timeline.Latency, Definition: timeline.Baseline}},
		{why: "nothing to compare with", at: -1,
			samples: append(failedAll(served(2, 2)), call("a", 2*sec)),
			options: timeline.RecoveryOptions{OutageStart: bin(2), BasedOn: timeline.Latency, Definition: timeline.Baseline},
			notes:   "no baseline: latency is undefined in all bins 0 to 1."},
	} {
		t.Run(tt.why, func(t *testing.T) {
			rec, err := newRun(t, nil, tt.samples...).RecoveryTime("a", &tt.options)
			require.NoError(t, err)
			assert.Equal(t, tt.notes, rec.Notes)
			if tt.at < 0 {
				assert.Nil(t, rec.RecoveryTs)
				text, err := json.Marshal(rec)
				require.NoError(t, err)
				assert.Contains(t, string(text), `"recoveryTs":null,"durationBins":null,"durationMinutes":null`)
				return
			}
			require.NotNil(t, rec.RecoveryTs, "%v", rec.Notes)
			assert.Equal(t, epoch.Add(time.Duration(tt.at)*sec), *rec.RecoveryTs)
		})
	}
}

func failedAll(samples []timeline.Sample) []timeline.Sample {
	for i := range samples {
		samples[i].Failed = true
	}
	return samples
}

func TestRecoveryOptionsAreChecked(t *testing.T) {
	r := newRun(t, nil, call("a", 0), call("a", 5*sec))
	for _, tt := range []struct {
		options timeline.RecoveryOptions
		want    string
	}{
		{timeline.RecoveryOptions{BasedOn: "mood"}, `timeline: basedOn is "mood"; allowed: arrivals`},
		{timeline.RecoveryOptions{BasedOn: timeline.Latency}, `timeline: basedOn is "latency"; allowed: for recovery to zero backlog, errors, failures, retryTax`},
		{timeline.RecoveryOptions{Definition: "soon"}, `timeline: recoveryDefinition is "soon"; allowed: zero or baseline`},
		{timeline.RecoveryOptions{Tolerance: number(-1)}, `timeline: tolerance is -1; allowed: 0 or more`},
		{timeline.RecoveryOptions{Definition: timeline.Baseline}, `timeline: baselineWindow: the outage starts in the first bin: nothing was recorded before it`},
		{timeline.RecoveryOptions{OutageStart: timeline.Bin(3), LookaheadEnd: timeline.Bin(2)}, "endBin must be >= startBin."},
	} {
		_, err := r.RecoveryTime("a", &tt.options)
		assert.ErrorContains(t, err, tt.want)
	}
	_, err := r.RecoveryTime("b", &timeline.RecoveryOptions{})
	assert.EqualError(t, err, `timeline: nodeId is "b"; allowed: a node that was called: a`)
}
