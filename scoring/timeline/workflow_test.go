package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// The four things that people ask a timeline, asked of a minute in which the
// database was down from second 20 to second 30.
func outage(t *testing.T) *timeline.Run {
	return newRun(t, nil, shop{length: 60 * sec, downAt: 20 * sec, downTo: 30 * sec}.samples()...)
}

func TestDescribeAnOutageAndItsImpact(t *testing.T) {
	r := outage(t)
	found, err := r.DetectOutages(timeline.Query{Nodes: []string{"db.query"}}, timeline.OutageRule{})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, timeline.Outage, found[0].Type)
	assert.Equal(t, timeline.High, found[0].Severity)
	assert.Equal(t, epoch.Add(20*sec), found[0].StartTs)
	assert.Equal(t, epoch.Add(30*sec), found[0].EndTs, "exclusive")
	assert.Equal(t, "served/arrivals at most 0.5 for 10 bins: 100 arrivals, 0 served, 94 errors", found[0].Details.String(),
		"the third query of the last six comes after the recovery")

	w, err := r.StateWindow(timeline.Query{Nodes: []string{"db.query"}, Start: timeline.Bin(19), End: timeline.Bin(21)},
		timeline.RetryTax, timeline.Attempts, timeline.Arrivals, timeline.Errors)
	require.NoError(t, err)
	m := w.Series[0].Metrics
	assert.Equal(t, []timeline.Value{10, 10, 10}, m[timeline.Arrivals])
	assert.Equal(t, []timeline.Value{10, 21, 30}, m[timeline.Attempts], "an outage triples the load")
	assert.Equal(t, timeline.Value(1), m[timeline.RetryTax][2])
	assert.Equal(t, timeline.Value(10), m[timeline.Errors][2])
}

func TestRecoveryTimeAfterANodeWentDown(t *testing.T) {
	r := outage(t)
	rec, err := r.RecoveryTime("db.query", &timeline.RecoveryOptions{OutageStart: timeline.At(epoch.Add(20 * sec))})
	require.NoError(t, err)
	require.NotNil(t, rec.RecoveryTs, "%v", rec.Notes)
	assert.Equal(t, epoch.Add(30*sec), *rec.RecoveryTs)
	assert.Equal(t, timeline.Value(10), rec.DurationBins)
	assert.InDelta(t, 10./60, float64(rec.DurationMinutes), 1e-9)
	assert.Empty(t, rec.Notes)
}

func TestWhichNodesWereAffectedForHowLongAndWithWhichDelay(t *testing.T) {
	impact, err := outage(t).Impact("db.query", timeline.Query{Start: timeline.Bin(20)}, timeline.OutageRule{})
	require.NoError(t, err)
	require.Len(t, impact.Affected, 1)
	up := impact.Affected[0]
	assert.Equal(t, "api.orders", up.Node)
	assert.Equal(t, timeline.Upstream, up.Direction)
	assert.Equal(t, timeline.Failing, up.How)
	assert.Equal(t, 1, up.Distance)
	assert.Equal(t, 0, up.DelayBins, "the first order fails within the bin")
	assert.Equal(t, 10, up.AffectedBins)
	assert.Equal(t, []string{"agent"}, impact.NotJudged, "nobody calls the agent")

	impact, err = outage(t).Impact("api.orders", timeline.Query{Start: timeline.Bin(20)}, timeline.OutageRule{})
	require.NoError(t, err)
	require.Len(t, impact.Affected, 2)
	assert.Equal(t, "api.price", impact.Affected[0].Node)
	assert.Equal(t, timeline.Starved, impact.Affected[0].How, "what an order never reaches is not failing")
	assert.Equal(t, 10*sec, impact.Affected[0].EndTs.Sub(impact.Affected[0].StartTs))
	assert.Equal(t, "db.query", impact.Affected[1].Node)
	assert.Equal(t, timeline.Downstream, impact.Affected[1].Direction)
}

// A worker lives on what it has read ahead for five seconds after its feed went
// down, and needs two more than the feed to be back.
func TestTheDelayOfAnImpactIsMeasured(t *testing.T) {
	var all []timeline.Sample
	for n := range 400 {
		start := time.Duration(n) * 100 * ms
		feed := call("feed", start)
		feed.Caller, feed.Failed = "worker", n >= 200 && n < 300
		work := call("worker", start)
		work.Caller, work.Failed = "agent", n >= 250 && n < 320
		all = append(all, feed, work)
	}
	impact, err := newRun(t, nil, all...).Impact("feed", timeline.Query{Start: timeline.Bin(20)}, timeline.OutageRule{})
	require.NoError(t, err)
	require.Len(t, impact.Affected, 1)
	worker := impact.Affected[0]
	assert.Equal(t, 5, worker.DelayBins)
	assert.Equal(t, 5.0, worker.DelaySec)
	assert.Equal(t, 7, worker.AffectedBins)
	assert.Equal(t, epoch.Add(32*sec), worker.EndTs)
}

func TestBaselineAgainstScenario(t *testing.T) {
	calm := newRun(t, nil, shop{length: 60 * sec}.samples()...)
	c, err := timeline.Compare(calm, outage(t), timeline.Query{Nodes: []string{"api.orders", "api.price"}})
	require.NoError(t, err)
	assert.InDelta(t, 94./600, float64(c.Degradation["api.orders"]), 1e-9, "94 of 600 orders failed")
	assert.Zero(t, c.Degradation["api.price"], "called less, served as well")
	row := func(node string, m timeline.Metric) timeline.Change {
		for _, c := range c.Changes {
			if c.Node == node && c.Metric == m {
				return c
			}
		}
		t.Fatalf("no row for %s %s", node, m)
		return timeline.Change{}
	}
	served := row("api.orders", timeline.Served)
	assert.Equal(t, timeline.Value(600), served.Baseline)
	assert.Equal(t, timeline.Value(506), served.Scenario)
	assert.True(t, served.Worse)
	assert.False(t, row("api.price", timeline.Arrivals).Worse, "fewer arrivals are neither good nor bad")
	assert.True(t, row("api.orders", timeline.LatencyP95).Ratio >= 1)
}
