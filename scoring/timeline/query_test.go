package timeline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestBoundsOfAWindow(t *testing.T) {
	r := newRun(t, nil, call("a", 0), call("a", 59*sec)) // bins 0 to 59
	bin, at := timeline.Bin, func(d time.Duration) timeline.Bound { return timeline.At(epoch.Add(d)) }
	var open timeline.Bound
	for _, tt := range []struct {
		why         string
		start, end  timeline.Bound
		maxBins     int
		first, last int
		err         string
	}{
		{why: "open is everything", start: open, end: open, first: 0, last: 59},
		{why: "bins are inclusive", start: bin(3), end: bin(3), first: 3, last: 3},
		{why: "times are inclusive: the bin they fall in", start: at(3 * sec), end: at(4999 * ms), first: 3, last: 4},
		{why: "a time and a bin mix", start: at(10 * sec), end: bin(12), first: 10, last: 12},
		{why: "another time zone is the same time", start: timeline.At(epoch.Add(3 * sec).In(time.FixedZone("", 7200))), end: bin(5), first: 3, last: 5},
		{why: "before the epoch is the first bin", start: at(-sec), end: bin(1), first: 0, last: 1},
		{why: "past the end is cut", start: bin(50), end: bin(500), first: 50, last: 59},
		{why: "the end before the start", start: bin(5), end: bin(4), err: "endBin must be >= startBin."},
		{why: "the limit is 1000 by default", start: bin(0), end: bin(1000), err: "Requested window 1001 exceeds maxBins 1000."},
		{why: "the limit counts what was asked for, not what there is", start: bin(10), end: at(2000 * sec), err: "Requested window 1991 exceeds maxBins 1000."},
		{why: "another limit", start: bin(0), end: bin(10), maxBins: 10, err: "Requested window 11 exceeds maxBins 10."},
		{why: "just within it", start: bin(0), end: bin(9), maxBins: 10, first: 0, last: 9},
		{why: "a negative bin", start: bin(-1), end: bin(5), err: "timeline: startBin is -1; allowed: 0 or more"},
		{why: "nothing there", start: bin(60), end: bin(70), err: "timeline: startBin is 60; allowed: at most 59, the last recorded bin"},
		{why: "a negative limit", maxBins: -1, err: "timeline: maxBins is -1; allowed: 0 or more"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			w, err := r.StateWindow(timeline.Query{Start: tt.start, End: tt.end, MaxBins: tt.maxBins}, timeline.Served)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.first, w.Window.StartBin)
			assert.Equal(t, tt.last, w.Window.EndBin)
			assert.Len(t, w.Series[0].Metrics[timeline.Served], tt.last-tt.first+1, "aligned with the bins")
		})
	}
	_, err := r.StateWindow(timeline.Query{Start: bin(2), End: bin(1)})
	var w *timeline.WindowError
	require.ErrorAs(t, err, &w)
	assert.Equal(t, timeline.WindowError{StartBin: 2, EndBin: 1, MaxBins: 1000}, *w)
}

func TestTheBinOfABound(t *testing.T) {
	r := newRun(t, nil, call("a", 59*sec))
	assert.Equal(t, 7, r.BinAt(timeline.Bin(7)))
	assert.Equal(t, 3, r.BinAt(timeline.At(epoch.Add(3500*ms))), "the bin that the time falls in")
	assert.Equal(t, 0, r.BinAt(timeline.At(epoch.Add(-sec))), "before the epoch")
	assert.Equal(t, 70, r.BinAt(timeline.At(epoch.Add(70*sec))), "after the last recorded bin")
	assert.Equal(t, -1, r.BinAt(timeline.Bound{}), "an open bound is no bin")
}

func TestWrongQuestionsAreRefused(t *testing.T) {
	r := newRun(t, nil, call("a", 0))
	_, err := r.StateWindow(timeline.Query{Nodes: []string{"b"}})
	assert.EqualError(t, err, `timeline: nodeId is "b"; allowed: a node that was called: a`)
	_, err = r.StateWindow(timeline.Query{}, "speed")
	assert.ErrorContains(t, err, `timeline: metric is "speed"; allowed: arrivals, served, `)
	_, err = newRun(t, nil).StateWindow(timeline.Query{})
	assert.EqualError(t, err, `timeline: window is "..": the run has no samples`)
}

func TestBoundsAreReadFromText(t *testing.T) {
	for _, tt := range []struct{ json, text string }{
		{`null`, ""}, {`""`, ""}, {`7`, "7"}, {`"7"`, "7"}, {`-3`, "-3"},
		{`"2026-03-01T12:00:00Z"`, "2026-03-01T12:00:00Z"},
		{`"2026-03-01T12:00:00.25+02:00"`, "2026-03-01T12:00:00.25+02:00"},
	} {
		var b timeline.Bound
		require.NoError(t, json.Unmarshal([]byte(tt.json), &b), tt.json)
		assert.Equal(t, tt.text, b.String())
	}
	for _, bad := range []string{`1.5`, `true`, `{}`, `"noon"`, `"2026-03-01"`, `99999999999999999999`} {
		var b timeline.Bound
		err := json.Unmarshal([]byte(bad), &b)
		var input *timeline.FieldError
		require.ErrorAs(t, err, &input, bad)
		assert.Equal(t, "a bin index or a time in RFC 3339", input.Allowed)
	}
}

func FuzzBound(f *testing.F) {
	for _, seed := range []string{`0`, `"0"`, `null`, `"2026-03-01T12:00:00Z"`, `"2026-03-01T12:00:00.123456789-07:00"`, `[]`, `"9999-12-31T23:59:59Z"`, `-9223372036854775808`} {
		f.Add([]byte(seed))
	}
	r := newRun(f, nil, call("a", 0), call("a", 5*sec))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b timeline.Bound
		if b.UnmarshalJSON(text) != nil {
			return
		}
		again, err := json.Marshal(b)
		require.NoError(t, err)
		var c timeline.Bound
		require.NoError(t, json.Unmarshal(again, &c), "what is written can be read: %s", again)
		assert.Equal(t, b.String(), c.String())
		for _, q := range []timeline.Query{{Start: b}, {End: b}, {Start: b, End: b}} {
			if w, err := r.StateWindow(q, timeline.Served); err == nil {
				assert.LessOrEqual(t, w.Window.StartBin, w.Window.EndBin)
				assert.Less(t, w.Window.EndBin, r.Bins())
			}
		}
	})
}

func FuzzSampleJSON(f *testing.F) {
	f.Add([]byte(`{"target":"a","startNs":0,"endNs":5}`))
	f.Add([]byte(`{"target":"a","key":"18446744073709551615","attempt":2,"failed":true,"startNs":1,"endNs":9223372036854775807}`))
	f.Add([]byte(`{"startNs":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s timeline.Sample
		if json.Unmarshal(text, &s) != nil {
			return
		}
		r := newRun(t, nil)
		if r.Add(s) != nil {
			return
		}
		require.LessOrEqual(t, r.Bins(), 1000)
		w, err := r.StateWindow(timeline.Query{})
		require.NoError(t, err)
		_, err = json.Marshal(w)
		require.NoError(t, err)
	})
}
