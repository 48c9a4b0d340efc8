package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestAnOutageIsFoundAndMeasured(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	runs := answer[runsOutput](t, c, "get_runs", `{}`)
	assert.Equal(t, "monday", runs.Runs[0].ID)
	graph := answer[graphOutput](t, c, "get_graph", `{"subsystemId":"orders"}`)
	assert.Equal(t, []timeline.Edge{{From: "agent", To: "orders.get", Class: "checkout", Attempts: 60, Failures: 10}}, graph.Edges)
	assert.Equal(t, timeline.NodeTool, graph.Nodes[1].Type)

	found := answer[outagesOutput](t, c, "detect_outages", `{"nodeId":"orders.get","start":0,"end":59}`)
	require.Len(t, found.Incidents, 1)
	i := found.Incidents[0]
	assert.Equal(t, []string{"outage", "high"}, []string{i.Type, i.Severity})
	assert.Equal(t, epoch().Add(20*time.Second), i.StartTs)
	assert.Equal(t, epoch().Add(30*time.Second), i.EndTs, "exclusive")

	args := fmt.Sprintf(`{"nodeId":"orders.get","outageStartTs":%q,"lookaheadEndTs":59,"basedOn":"errors"}`, i.StartTs.Format(time.RFC3339))
	r := answer[recoveryOutput](t, c, "compute_recovery_time", args)
	assert.Equal(t, 10.0, float64(r.DurationBins))
	assert.Equal(t, epoch().Add(30*time.Second), *r.RecoveryTs)
	r = answer[recoveryOutput](t, c, "compute_recovery_time", `{"nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":25,"basedOn":"errors"}`)
	assert.Nil(t, r.RecoveryTs)
	assert.False(t, r.DurationBins.Defined())
	assert.NotEmpty(t, r.Notes, "nulls, and a note that says why")
	r = answer[recoveryOutput](t, c, "compute_recovery_time", `{"nodeId":"orders.get","outageStartTs":0,"lookaheadEndTs":9}`)
	assert.Contains(t, r.Summary, "nothing to recover from: backlog at most 0 in every bin 0 to 9.")
}

func TestAWindowIsSummarisedFirst(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	w := answer[windowOutput](t, c, "get_state_window", `{"start":0,"end":59}`)
	require.Len(t, w.Nodes, 1)
	assert.Equal(t, []float64{60, 50, 10}, []float64{w.Nodes[0].Arrivals, w.Nodes[0].Served, w.Nodes[0].Errors})
	assert.InDelta(t, 50.0/60, float64(w.Nodes[0].ThroughputRatio), 1e-9)
	require.Len(t, w.Series, 1, "60 bins of 13 metrics are not 1000 values")
	assert.Len(t, w.Series[0].Metrics, 13)
	assert.Equal(t, "1s", w.Window.BinSize)

	w = answer[windowOutput](t, c, "get_state_window", `{"start":"2026-05-04T03:02:18Z","end":21,"metrics":["served","throughputRatio","latency"]}`)
	require.Len(t, w.Series, 1)
	assert.Equal(t, []timeline.Value{1, 1, 0, 0}, w.Series[0].Metrics[timeline.Served])
	assert.False(t, w.Series[0].Metrics[timeline.Latency][2].Defined(), "null where nothing was served")
	assert.Len(t, w.Series[0].Metrics, 3)
	all := answer[windowOutput](t, c, "get_state_window", `{"start":0,"end":1,"includeSeries":true,"classIds":["checkout"]}`)
	assert.Len(t, all.Series[0].Metrics, 13)
	assert.Equal(t, "checkout", all.Series[0].Class)
}

func TestLongSeriesOnlyWhenAskedFor(t *testing.T) {
	shop := newShop(t)
	run, err := timeline.NewRun(nil)
	require.NoError(t, err)
	for i := range 77 {
		require.NoError(t, run.Add(timeline.Sample{Target: "orders.get", Start: time.Duration(i) * time.Second, End: time.Duration(i) * time.Second}))
	}
	_, err = shop.host.Runs.Add(trace.Entry{ID: "long", Timeline: run})
	require.NoError(t, err)
	c := clientOf(t, serverOf(t, shop.host, nil), nil)
	for args, series := range map[string]int{
		`{"runId":"long","start":0,"end":75}`:                      1, // 988 values
		`{"runId":"long","start":0,"end":76}`:                      0, // 1001
		`{"runId":"long","start":0,"end":76,"includeSeries":true}`: 1,
		`{"runId":"long","start":0,"end":76,"metrics":["served"]}`: 1,
	} {
		assert.Len(t, answer[windowOutput](t, c, "get_state_window", args).Series, series, args)
	}
}

func TestARecoveryIsDefinedByWordOrObject(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	ask := func(definition string) recoveryOutput {
		return answer[recoveryOutput](t, c, "compute_recovery_time",
			`{"nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":59,"basedOn":"served","recoveryDefinition":`+definition+`}`)
	}
	word := ask(`"baseline"`)
	assert.Equal(t, 10.0, float64(word.DurationBins))
	assert.Equal(t, word, ask(`{"type":"baseline"}`))
	assert.Equal(t, word, ask(`{"type":"baseline","tolerance":0.5,"baselineWindow":{"start":0,"end":"2026-05-04T03:02:10Z"}}`))
	for definition, detail := range map[string]string{
		`{"type":"full"}`:                     "recoveryDefinition.type is \"full\"; allowed: zero, baseline",
		`{"type":"zero","tolerance":-1}`:      "recoveryDefinition.tolerance is -1; allowed: a number from 0",
		`{"kind":"zero"}`:                     "recoveryDefinition.kind is no member",
		`{"type":"zero","baselineWindow":{}}`: "recoveryDefinition.baselineWindow.start is missing",
		`7`:                                   "recoveryDefinition is 7; allowed: zero, baseline or an object",
	} {
		p := refusal(t, c, "compute_recovery_time", `{"nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":59,"recoveryDefinition":`+definition+`}`)
		assert.Contains(t, p.Detail, detail)
	}
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	for _, tc := range []struct{ tool, args, detail string }{
		{"get_state_window", `{"start":0,"end":1500}`, "Requested window 1501 exceeds maxBins 1000."},
		{"get_state_window", `{"start":5,"end":2}`, "endBin must be >= startBin."},
		{"get_state_window", `{"start":0,"end":1,"nodeIds":["no.such"]}`, "no.such"},
		{"get_state_window", `{"start":"yesterday","end":1}`, "yesterday"},
		{"get_state_window", `{"start":0,"end":1,"metrics":["servd"]}`, `metrics[0] is "servd"; allowed: arrivals, served`},
		{"detect_outages", `{"nodeId":"orders.get","start":0,"end":9,"metric":"backlog"}`, "threshold"},
		{"detect_outages", `{"nodeId":"orders.get","start":0,"end":9,"metric":"arrivals"}`, "allowed: served, throughputRatio, capacity"},
		{"compute_recovery_time", `{"nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":59,"recoveryDefinition":"full"}`, "allowed: zero, baseline"},
		{"get_graph", `{"runId":"tuesday"}`, `runId is "tuesday"`},
		{"run_scenario", `{"baseRunId":"tuesday","label":"x","parameters":{"capacityMultiplier":0.5}}`, "tuesday"},
		{"run_scenario", `{"baseRunId":"monday","label":"x","parameters":{"loadMultiplier":2}}`, "parameters.loadMultiplier is no member"},
		{"run_scenario", `{"baseRunId":"monday","label":"x","parameters":{"capacityMultiplier":0}}`, "capacityMultiplier is 0; allowed: a number above 0 up to 1000"},
		{"run_scenario", `{"baseRunId":"monday","label":"x","parameters":{"retryDelayMultiplier":2}}`, "read none of the parameters"},
	} {
		p := refusal(t, c, tc.tool, tc.args)
		assert.Contains(t, p.Detail, tc.detail, tc.args)
		assert.NotEmpty(t, p.Hint, tc.args)
		assert.Less(t, p.Status, 500, tc.args)
	}
}

func TestAScenarioRuns(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	out := answer[scenarioOutput](t, c, "run_scenario", `{"baseRunId":"monday","label":"half","parameters":{"capacityMultiplier":0.5}}`)
	assert.Empty(t, out.State, "it is done")
	assert.Equal(t, "0", out.Seed)
	assert.False(t, out.Repeats, "it is a live program, not virtual time")
	runs := answer[runsOutput](t, c, "get_runs", `{"kind":"scenario"}`)
	require.Len(t, runs.Runs, 1)
	assert.Equal(t, out.RunID, runs.Runs[0].ID)
	graph := answer[graphOutput](t, c, "get_graph", fmt.Sprintf(`{"runId":%q}`, out.RunID))
	assert.Len(t, graph.Edges, 1)
}

func TestALongScenarioGoesOn(t *testing.T) {
	end := make(chan struct{})
	s := newShop(t)
	s.host.Runs = recorded(t, func(ctx context.Context, c *trace.Conditions) error {
		c.Limit(4)
		call := chaos.Wrap("orders.get", func(context.Context, int) (int, error) { return 0, nil })
		_, err := call(ctx, 1)
		select {
		case <-end:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
		return err
	})
	c := clientOf(t, serverOf(t, s.host, &Options{Limits: Limits{ScenarioWait: time.Millisecond}}), nil)
	const half = `{"baseRunId":"monday","label":"half","parameters":{"capacityMultiplier":0.5}}`
	out := answer[scenarioOutput](t, c, "run_scenario", half)
	assert.Equal(t, trace.StateRunning, out.State)
	assert.Equal(t, trace.StateRunning, answer[runsOutput](t, c, "get_runs", `{"kind":"scenario"}`).Runs[0].State)
	assert.Equal(t, "busy", refusal(t, c, "run_scenario", half).Code)
	close(end)
	_, err := s.host.Runs.Wait(t.Context(), out.RunID)
	require.NoError(t, err)
	assert.Empty(t, answer[runsOutput](t, c, "get_runs", `{"kind":"scenario"}`).Runs[0].State)
}

func TestLongAnswersAreCutAndSayHow(t *testing.T) {
	s := newShop(t)
	run, err := timeline.NewRun(&timeline.RunOptions{Epoch: epoch()})
	require.NoError(t, err)
	for i := range 300 {
		for bin := range 40 {
			at := time.Duration(bin) * time.Second
			require.NoError(t, run.Add(timeline.Sample{Target: fmt.Sprintf("node.n%03d", i), Start: at, End: at, Failed: bin%2 == 0}))
		}
	}
	_, err = s.host.Runs.Add(trace.Entry{ID: "wide", Label: "many nodes", Timeline: run})
	require.NoError(t, err)
	c := clientOf(t, serverOf(t, s.host, nil), nil)
	g := answer[graphOutput](t, c, "get_graph", `{}`)
	assert.Len(t, g.Nodes, 100)
	assert.Equal(t, 301+300-len(g.Nodes)-len(g.Edges), g.Omitted)
	assert.Contains(t, g.Summary, "narrow by subsystemId")
	w := answer[windowOutput](t, c, "get_state_window", `{"start":0,"end":39,"limit":200,"includeSeries":true}`)
	assert.Len(t, w.Nodes, 200)
	assert.Equal(t, 100, w.Omitted)
	assert.Len(t, w.Series, 38, "no more than 20,000 numbers")
	assert.Equal(t, 162, w.SeriesOmitted)
	o := answer[outagesOutput](t, c, "detect_outages", `{"nodeId":"node.n007","start":0,"end":39,"limit":5}`)
	assert.Len(t, o.Incidents, 5)
	assert.Equal(t, 15, o.Omitted)
	assert.Contains(t, o.Summary, "20 outages")
	for _, out := range []any{g, w, o} {
		text, err := json.Marshal(out)
		require.NoError(t, err)
		assert.Less(t, len(text), 400<<10)
	}
}

// checkout calls orders.get, which is down in the scenario; what checkout does not
// call is not connected.
func TestTheImpactOfAnOutageAndTheComparisonOfTwoRuns(t *testing.T) {
	shop := newShop(t)
	for id, down := range map[string]bool{"calm": false, "down": true} {
		run, err := timeline.NewRun(&timeline.RunOptions{Epoch: epoch()})
		require.NoError(t, err)
		for i := range 40 {
			at, fails := time.Duration(i)*time.Second, down && i >= 20
			for caller, target := range map[string]string{"agent": "checkout", "checkout": "orders.get", "clock": "time.now"} {
				s := timeline.Sample{Caller: caller, Target: target, Start: at, End: at + time.Millisecond, Key: uint64(i)}
				s.Failed = fails && target != "time.now" && (target == "orders.get" || i >= 23)
				require.NoError(t, run.Add(s))
			}
		}
		_, err = shop.host.Runs.Add(trace.Entry{ID: id, Timeline: run})
		require.NoError(t, err)
	}
	c := clientOf(t, serverOf(t, shop.host, nil), nil)

	hit := answer[impactOutput](t, c, "get_impact", `{"runId":"down","nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":39}`)
	require.Len(t, hit.Affected, 1)
	a := hit.Affected[0]
	assert.Equal(t, []any{"checkout", timeline.Upstream, timeline.Failing, 1, 3}, []any{a.Node, a.Direction, a.How, a.Distance, a.DelayBins})
	assert.Equal(t, []string{"agent"}, hit.NotJudged)
	assert.Equal(t, "orders.get: 1 connected node was affected, 0 not, 1 not judged.", hit.Summary)
	few := answer[impactOutput](t, c, "get_impact", `{"runId":"down","nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":39,"limit":1}`)
	assert.Equal(t, []int{1, 1, 0}, []int{len(few.Affected), len(few.NotJudged), few.Omitted}, "the limit is that of each list")
	assert.Empty(t, answer[impactOutput](t, c, "get_impact", `{"runId":"calm","nodeId":"orders.get","outageStartTs":20,"lookaheadEndTs":39}`).Affected)

	both := answer[compareOutput](t, c, "compare_runs", `{"baselineRunId":"calm","scenarioRunId":"down","start":0,"end":39,"metrics":["served","arrivals"]}`)
	assert.Equal(t, "down beside calm: 2 of 3 nodes served a smaller share.", both.Summary)
	served := timeline.Value(23) / 40 // no constant: rounded as the answer is
	assert.Equal(t, map[string]timeline.Value{"checkout": 1 - served, "orders.get": 0.5, "time.now": 0}, both.Degradation)
	require.Len(t, both.Changes, 6, "two metrics of three nodes")
	for _, change := range both.Changes {
		assert.Equal(t, change.Node != "time.now" && change.Metric == timeline.Served, change.Worse, change)
	}
	one := answer[compareOutput](t, c, "compare_runs", `{"baselineRunId":"calm","scenarioRunId":"down","start":0,"end":39,"nodeIds":["orders.get","checkout"],"limit":1}`)
	assert.Equal(t, []int{13, 1}, []int{len(one.Changes), one.Omitted})
	assert.Equal(t, "not_found", refusal(t, c, "compare_runs", `{"baselineRunId":"calm","scenarioRunId":"x","start":0,"end":39}`).Code)
	assert.Equal(t, "invalid_arguments", refusal(t, c, "compare_runs", `{"baselineRunId":"calm","scenarioRunId":"monday","start":0,"end":39,"nodeIds":["x"]}`).Code)
}

// An agent waits for a call that hangs for five seconds: through the tools it is an outage by
// default that affects the agent, while it lasts and afterwards.
func TestAHangIsAnOutageThroughTheTools(t *testing.T) {
	now := epoch()
	live, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{Epoch: epoch(), Now: func() time.Time { return now }}})
	require.NoError(t, err)
	shop := newShop(t)
	_, err = shop.host.Runs.Add(trace.Entry{ID: "live", Timeline: live.Run()})
	require.NoError(t, err)
	c := clientOf(t, serverOf(t, shop.host, nil), nil)
	hang := chaos.Event{Call: 1, Target: "db.query", Layer: chaos.LayerTool, Start: time.Second}
	now = epoch().Add(time.Second)
	live.Begin(t.Context(), hang)
	for bins, when := range []string{4: "while it lasts", 5: "afterwards"} {
		if now = epoch().Add(5500 * time.Millisecond); when == "" {
			continue
		} else if bins == 5 {
			now = epoch().Add(6500 * time.Millisecond)
			hang.End, hang.Outcome = 6*time.Second, chaos.OutcomeOK
			live.Record(t.Context(), hang)
		}
		found := answer[outagesOutput](t, c, "detect_outages", `{"runId":"live","nodeId":"db.query","start":0,"end":59}`)
		assert.Equal(t, "db.query: 1 outage, 0 degradations.", found.Summary, when)
		require.Len(t, found.Incidents, 1, when)
		assert.Equal(t, []any{"high", 1, bins}, []any{found.Incidents[0].Severity, found.Incidents[0].StartBin, found.Incidents[0].EndBin}, when)
		hit := answer[impactOutput](t, c, "get_impact", `{"runId":"live","nodeId":"db.query","outageStartTs":1,"lookaheadEndTs":59}`)
		require.Len(t, hit.Affected, 1, when)
		assert.Equal(t, []any{"agent", timeline.Waiting, bins}, []any{hit.Affected[0].Node, hit.Affected[0].How, hit.Affected[0].AffectedBins}, when)
		assert.Empty(t, hit.NotJudged, when)
	}
}
