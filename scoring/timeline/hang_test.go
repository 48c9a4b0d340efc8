package timeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// An agent waits for a call that hangs for five seconds, and so makes no other: that is an
// outage by every metric, and the agent is affected, while it lasts and afterwards.
func TestAHangIsAnOutageByDefault(t *testing.T) {
	r, w := live(t, 60)
	require.NoError(t, r.Add(served("a", 0, 100*ms)))
	w.at = sec
	hang, err := r.Begin(timeline.Sample{Target: "a", Start: sec})
	require.NoError(t, err)
	check := func(when string, last int) {
		t.Helper()
		for _, rule := range []timeline.OutageRule{{}, {Metric: timeline.Capacity}, {Metric: timeline.Backlog, Threshold: number(9)},
			{Metric: timeline.Latency, Threshold: number(1e6)}, {Metric: timeline.LatencyP95, Threshold: number(1e6)}} {
			found, err := r.DetectOutages(timeline.Query{}, rule)
			require.NoError(t, err)
			require.Len(t, found, 1, "%s, by %s", when, rule.Metric)
			assert.Equal(t, []any{timeline.Outage, timeline.High, 1, last},
				[]any{found[0].Type, found[0].Severity, found[0].StartBin, found[0].EndBin}, "%s, by %s", when, rule.Metric)
		}
		impact, err := r.Impact("a", timeline.Query{Start: timeline.Bin(1)}, timeline.OutageRule{})
		require.NoError(t, err)
		assert.Empty(t, impact.NotJudged, when)
		require.Len(t, impact.Affected, 1, when)
		assert.Equal(t, []any{"agent", timeline.Upstream, timeline.Waiting, 0, last},
			[]any{impact.Affected[0].Node, impact.Affected[0].Direction, impact.Affected[0].How, impact.Affected[0].DelayBins, impact.Affected[0].AffectedBins}, when)
	}
	w.at = sec + 900*ms
	assert.Empty(t, incidents(t, r), "in the present bin it may still end")
	w.at = 5*sec + 500*ms
	check("while it lasts", 4)
	assert.Equal(t, "served/arrivals at most 0.5, or calls in flight and none ended, for 4 bins", incidents(t, r)[0].Details.Reason)
	w.at = 6*sec + 500*ms
	require.NoError(t, hang.End(served("a", sec, 5*sec)))
	check("afterwards", 5)
}

// What the oracle knows of a call: one attempt, and no other of its operation.
type bruteCall struct {
	caller, target string
	start, end     time.Duration
	failed         bool
}

// TestLawBadBinsAreThoseOfABruteForceOracle counts bin by bin, from the calls themselves.
func TestLawBadBinsAreThoseOfABruteForceOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := 20*sec + time.Duration(rapid.IntRange(0, 999).Draw(t, "now"))*ms
		isLive := rapid.Bool().Draw(t, "live")
		w := &stopwatch{epoch: time.Unix(0, 0), at: now}
		o := timeline.RunOptions{}
		if isLive {
			o.Now = w.now
		}
		r, err := timeline.NewRun(&o)
		require.NoError(t, err)
		var calls []bruteCall
		for i := range rapid.IntRange(1, 15).Draw(t, "calls") {
			c := bruteCall{caller: rapid.SampledFrom([]string{"agent", "clerk"}).Draw(t, "caller"),
				target: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target"), failed: rapid.Bool().Draw(t, "failed")}
			c.start = time.Duration(rapid.IntRange(0, 19_000).Draw(t, "start")) * ms
			c.end = c.start + time.Duration(rapid.SampledFrom([]int{0, 10, 700, 1000, 3500, 9000}).Draw(t, "took"))*ms
			s := timeline.Sample{Caller: c.caller, Target: c.target, Lane: fmt.Sprint(i), Start: c.start, End: c.end, Failed: c.failed}
			if isLive && c.end > now {
				_, err = r.Begin(s)
			} else {
				err = r.Add(s)
			}
			require.NoError(t, err)
			calls = append(calls, c)
		}
		bins := r.Bins()
		over := bins
		if isLive {
			over = int(now / sec)
		}
		hangs := func(bin int, of func(bruteCall) bool) bool {
			from, to := time.Duration(bin)*sec, time.Duration(bin+1)*sec
			inFlight, ended := false, false
			for _, c := range calls {
				if of(c) {
					inFlight = inFlight || c.start < to && (c.end > from || c.start >= from)
					ended = ended || c.end >= from && c.end < to && (!isLive || c.end <= now)
				}
			}
			return inFlight && !ended && bin < over
		}
		for _, node := range []string{"a", "b"} {
			to := func(c bruteCall) bool { return c.target == node }
			if !slices.ContainsFunc(calls, to) {
				continue
			}
			for _, rule := range []timeline.OutageRule{{}, {Metric: timeline.Backlog, Threshold: number(1)}, {Metric: timeline.Latency, Threshold: number(1000)}} {
				var want []int
				for bin := range bins {
					from, until := time.Duration(bin)*sec, time.Duration(bin+1)*sec
					arrivals, ended, backlog, took := 0, 0, 0, time.Duration(0)
					for _, c := range calls {
						if !to(c) {
							continue
						}
						hasEnded := c.end < until && (!isLive || c.end <= now)
						if c.start >= from && c.start < until {
							arrivals++
						}
						if c.start < until && !hasEnded {
							backlog++
						}
						if hasEnded && c.end >= from && !c.failed {
							ended++
							took += c.end - c.start
						}
					}
					bad := map[timeline.Metric]bool{
						"":               arrivals > 0 && 2*ended <= arrivals && bin < over,
						timeline.Backlog: backlog > 1,
						timeline.Latency: ended > 0 && took > time.Duration(ended)*sec,
					}[rule.Metric]
					if bad || hangs(bin, to) {
						want = append(want, bin)
					}
				}
				found, err := r.DetectOutages(timeline.Query{Nodes: []string{node}}, rule)
				require.NoError(t, err)
				var got []int
				for _, i := range found {
					for bin := i.StartBin; bin <= i.EndBin; bin++ {
						got = append(got, bin)
					}
				}
				require.Equal(t, want, got, "%s by %q", node, rule.Metric)
			}
			impact, err := r.Impact(node, timeline.Query{}, timeline.OutageRule{})
			require.NoError(t, err)
			for _, caller := range []string{"agent", "clerk"} {
				of := func(c bruteCall) bool { return c.caller == caller && to(c) }
				waits := 0
				for bin := range bins {
					if hangs(bin, of) {
						waits++
					}
				}
				i := slices.IndexFunc(impact.Affected, func(a timeline.Affected) bool { return a.Node == caller })
				if waits == 0 {
					require.Equal(t, -1, i, caller)
					require.Equal(t, slices.ContainsFunc(calls, of), slices.Contains(impact.NotJudged, caller), caller)
					continue
				}
				require.Equal(t, []any{timeline.Waiting, waits}, []any{impact.Affected[i].How, impact.Affected[i].AffectedBins}, caller)
			}
		}
	})
}
