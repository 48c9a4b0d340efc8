package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// call is a sample of 20 ms, for tables.
func call(target string, start time.Duration) timeline.Sample {
	return timeline.Sample{Target: target, Start: start, End: start + 20*ms}
}

func failed(s timeline.Sample) timeline.Sample {
	s.Failed = true
	return s
}

func attempt(n int, s timeline.Sample) timeline.Sample {
	s.Attempt = n
	return s
}

func newRun(t testing.TB, o *timeline.RunOptions, samples ...timeline.Sample) *timeline.Run {
	t.Helper()
	if o == nil {
		o = &timeline.RunOptions{Epoch: epoch}
	}
	r, err := timeline.NewRun(o)
	require.NoError(t, err)
	require.NoError(t, r.AddAll(samples))
	return r
}

// shop is a minute of a shop: an agent asks for orders ten times a second, an
// order looks into the database, and one in five asks for a price as well. While
// the database is down, every query fails after 5 ms; an order tries three times,
// 300 ms apart, and fails when its queries did. The agent does not try again.
type shop struct {
	length         time.Duration
	downAt, downTo time.Duration
	pause          time.Duration // between the queries of an order; 0: 300 ms
}

func (s shop) samples() []timeline.Sample {
	var all []timeline.Sample
	pause := s.pause
	if pause == 0 {
		pause = 300 * ms
	}
	for n := 0; time.Duration(n)*100*ms < s.length; n++ {
		start := time.Duration(n) * 100 * ms
		queries, ok := s.queries(start+2*ms, pause, uint64(n))
		all = append(all, queries...)
		end := queries[len(queries)-1].End + 3*ms
		if ok && n%5 == 0 {
			price := timeline.Sample{Caller: "api.orders", Target: "api.price", Type: timeline.NodeHTTP,
				Key: uint64(n), Start: end, End: end + 8*ms}
			all = append(all, price)
			end = price.End
		}
		all = append(all, timeline.Sample{Caller: "agent", Target: "api.orders", Type: timeline.NodeTool,
			Key: uint64(n), Start: start, End: end, Failed: !ok})
	}
	return all
}

func (s shop) queries(at, pause time.Duration, key uint64) (all []timeline.Sample, ok bool) {
	for n := 1; n <= 3; n++ {
		q := timeline.Sample{Caller: "api.orders", Target: "db.query", Key: key, Start: at, End: at + 12*ms, Attempt: n}
		if at >= s.downAt && at < s.downTo {
			q.End, q.Failed = at+5*ms, true
		}
		all = append(all, q)
		if !q.Failed {
			return all, true
		}
		at = q.End + pause
	}
	return all, false
}

// perBin makes one node's samples: in bin i arrivals[i] calls begin and end, and
// all but served[i] of them fail for good.
func perBin(target string, arrivals, served []int) []timeline.Sample {
	var all []timeline.Sample
	for bin := range arrivals {
		for n := range arrivals[bin] {
			s := call(target, time.Duration(bin)*sec+time.Duration(n)*20*ms)
			s.Failed = n >= served[bin]
			all = append(all, s)
		}
	}
	return all
}

// queued makes one node's samples so that its backlog at the end of bin i is backlog[i].
// The last backlog must be 0. Every call begins in the middle of a bin, and is served
// in the middle of a later one.
func queued(target string, backlog ...int) []timeline.Sample {
	var all []timeline.Sample
	var begun []time.Duration
	for bin, want := range backlog {
		at := time.Duration(bin)*sec + 500*ms
		for len(begun) > want {
			all = append(all, timeline.Sample{Target: target, Start: begun[0], End: at})
			begun = begun[1:]
		}
		for len(begun) < want {
			begun = append(begun, at)
		}
	}
	return append(all, call(target, time.Duration(len(backlog))*sec-sec))
}

func number(f float64) *float64 { return &f }
