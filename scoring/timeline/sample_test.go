package timeline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestInvalidSamplesAreRefusedWithEveryReason(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sample timeline.Sample
		want   string
	}{
		{"no target", timeline.Sample{}, `timeline: target is missing; allowed: the name of the node that was called`},
		{"before the epoch", timeline.Sample{Target: "a", Start: -1}, `timeline: start is -1ns; allowed: 0 or more: not before the epoch of the run`},
		{"ends before it starts", timeline.Sample{Target: "a", Start: sec}, `timeline: end is 0s; allowed: 1s or more, where it starts`},
		{"attempt below zero", timeline.Sample{Target: "a", Attempt: -1}, `timeline: attempt is -1; allowed: 1 or more, or 0 for 1`},
		{"unknown type", timeline.Sample{Target: "a", Type: "cron"}, `timeline: type is "cron"; allowed: agent, tool, llm, http or point`},
		{"two reasons", timeline.Sample{Attempt: -1}, "timeline: target is missing; allowed: the name of the node that was called\n" +
			"timeline: attempt is -1; allowed: 1 or more, or 0 for 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t, nil)
			err := r.Add(tt.sample)
			require.EqualError(t, err, tt.want)

			var input *timeline.FieldError
			assert.ErrorAs(t, err, &input)
			assert.Zero(t, r.Bins(), "nothing was counted")
		})
	}
}

func TestABatchCountsTheValidAndReportsTheOthers(t *testing.T) {
	r := newRun(t, nil)
	samples := []timeline.Sample{call("a", 0), {}, call("a", sec)}

	err := r.AddAll(samples)
	assert.EqualError(t, err, `samples[1]: timeline: target is missing; allowed: the name of the node that was called`)
	assert.Equal(t, 2, r.Bins())

	err = r.AddAll(make([]timeline.Sample, 40))
	assert.ErrorContains(t, err, "samples[15]: ")
	assert.NotContains(t, err.Error(), "samples[16]: ")
	assert.ErrorContains(t, err, "timeline: and 24 more problems")
}

func TestASampleSurvivesJSON(t *testing.T) {
	s := timeline.Sample{Caller: "agent", Target: "llm.chat", Class: "fast", Lane: "l1", Key: 1<<64 - 1, Type: timeline.NodeLLM,
		Start: sec, End: 2 * sec, Failed: true, Attempt: 2}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"key":"18446744073709551615"`, "a number would be rounded by other readers")
	var back timeline.Sample
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, s, back)
}

// How attempts become operations. Every row is one node's samples in the order
// in which they are added, and what they count as.
func TestAttemptsAreGroupedIntoOperations(t *testing.T) {
	at := func(start, end time.Duration) timeline.Sample {
		return timeline.Sample{Target: "a", Start: start * ms, End: end * ms}
	}
	with := func(s timeline.Sample, change func(*timeline.Sample)) timeline.Sample {
		change(&s)
		return s
	}
	for _, tt := range []struct {
		why                                          string
		options                                      timeline.RunOptions
		samples                                      []timeline.Sample
		arrivals, served, errors, attempts, failures timeline.Value
		latency                                      string
	}{
		{why: "one call is one operation", samples: []timeline.Sample{at(0, 10)},
			arrivals: 1, served: 1, attempts: 1, latency: "10"},
		{why: "a failed call that is not retried is an error", samples: []timeline.Sample{failed(at(0, 10))},
			arrivals: 1, errors: 1, attempts: 1, failures: 1, latency: "n/a"},
		{why: "a retry that goes well makes the operation one that took both calls and the pause",
			samples:  []timeline.Sample{failed(at(0, 10)), attempt(2, at(50, 60))},
			arrivals: 1, served: 1, attempts: 2, failures: 1, latency: "60"},
		{why: "an operation fails once, however often it was tried",
			samples:  []timeline.Sample{failed(at(0, 10)), attempt(2, failed(at(20, 30))), attempt(3, failed(at(40, 50)))},
			arrivals: 1, errors: 1, attempts: 3, failures: 3, latency: "n/a"},
		{why: "attempts need not be numbered without gaps: calls that were cut out of the recording leave one",
			samples:  []timeline.Sample{failed(at(0, 10)), attempt(4, at(50, 60))},
			arrivals: 1, served: 1, attempts: 2, failures: 1, latency: "60"},
		{why: "attempt 1 begins an operation, even after a failure",
			samples:  []timeline.Sample{failed(at(0, 10)), failed(at(20, 30)), at(40, 50)},
			arrivals: 3, served: 1, errors: 2, attempts: 3, failures: 2, latency: "10"},
		{why: "a retry without a known attempt before it is an operation of its own",
			samples:  []timeline.Sample{attempt(2, at(0, 10))},
			arrivals: 1, served: 1, attempts: 1, latency: "10"},
		{why: "other arguments, another operation",
			samples:  []timeline.Sample{failed(at(0, 10)), with(attempt(2, at(20, 30)), func(s *timeline.Sample) { s.Key = 7 })},
			arrivals: 2, served: 1, errors: 1, attempts: 2, failures: 1, latency: "10"},
		{why: "another lane, another operation",
			samples:  []timeline.Sample{failed(at(0, 10)), with(attempt(2, at(20, 30)), func(s *timeline.Sample) { s.Lane = "b" })},
			arrivals: 2, served: 1, errors: 1, attempts: 2, failures: 1, latency: "10"},
		{why: "another caller, another operation",
			samples:  []timeline.Sample{failed(at(0, 10)), with(attempt(2, at(20, 30)), func(s *timeline.Sample) { s.Caller = "b" })},
			arrivals: 2, served: 1, errors: 1, attempts: 2, failures: 1, latency: "10"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := newRun(t, &tt.options, tt.samples...)
			w, err := r.StateWindow(timeline.Query{})
			require.NoError(t, err)
			m := w.Series[0].Metrics
			assert.Equal(t, tt.arrivals, m[timeline.Arrivals][0], "arrivals")
			assert.Equal(t, tt.served, m[timeline.Served][0], "served")
			assert.Equal(t, tt.errors, m[timeline.Errors][0], "errors")
			assert.Equal(t, tt.attempts, m[timeline.Attempts][0], "attempts")
			assert.Equal(t, tt.failures, m[timeline.Failures][0], "failures")
			assert.Equal(t, tt.latency, m[timeline.Latency][0].String(), "latency")
			assert.Equal(t, timeline.Value(0), m[timeline.Backlog][0], "all have ended")
		})
	}
}

// A failed operation waits for its retry: meanwhile it counts as an error, later
// as in flight.
func TestAFailureIsAnErrorUntilItIsRetried(t *testing.T) {
	r := newRun(t, nil, failed(call("a", 0)))
	read := func(m timeline.Metric) []timeline.Value {
		w, err := r.StateWindow(timeline.Query{}, m)
		require.NoError(t, err)
		return w.Series[0].Metrics[m]
	}
	assert.Equal(t, []timeline.Value{1}, read(timeline.Errors))
	require.NoError(t, r.Add(attempt(2, call("a", 2*sec))))
	assert.Equal(t, []timeline.Value{0, 0, 0}, read(timeline.Errors))
	assert.Equal(t, []timeline.Value{1, 1, 0}, read(timeline.Backlog), "the pause between the attempts is part of it")
	assert.Equal(t, []timeline.Value{0, 0, 1}, read(timeline.Served))
}

func TestForgottenFailuresStayErrors(t *testing.T) {
	const n = 5000 // more than a series remembers
	var all []timeline.Sample
	for i := range n {
		s := failed(call("a", time.Duration(i)*ms))
		s.Key = uint64(i)
		all = append(all, s)
	}
	count := func(retried uint64) (arrivals, errors timeline.Value) {
		retry := attempt(2, call("a", 6*sec))
		retry.Key = retried
		r := newRun(t, nil, append(all, retry)...)
		c, err := timeline.Compare(r, r, timeline.Query{})
		require.NoError(t, err)
		return c.Changes[0].Baseline, c.Changes[2].Baseline
	}
	arrivals, errors := count(0)
	assert.Equal(t, timeline.Value(n+1), arrivals, "the retry of a forgotten operation is a new one")
	assert.Equal(t, timeline.Value(n), errors)
	arrivals, errors = count(n - 512)
	assert.Equal(t, timeline.Value(n), arrivals, "the latest 512 are remembered")
	assert.Equal(t, timeline.Value(n-1), errors)
}
