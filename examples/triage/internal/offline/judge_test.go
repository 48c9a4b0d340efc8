package offline_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// traffic is calls from one node to another, four a second for a minute.
type traffic struct {
	from, to string
	from20   float64 // share of the calls that fail from second 20 to 40
	slow20   time.Duration
	always   float64 // share that fails at other times
	stops20  bool    // no calls from second 20 to 40
}

const perSecond = 4

func runOf(t testing.TB, until int, all ...traffic) *timeline.Run {
	t.Helper()
	r, err := timeline.NewRun(&timeline.RunOptions{Epoch: epoch})
	require.NoError(t, err)
	for _, tr := range all {
		owed := 0.0 // failures, spread evenly
		for i := range until * perSecond {
			at := time.Duration(i) * time.Second / perSecond
			share, latency := tr.always, 10*time.Millisecond
			if at >= 20*time.Second && at < 40*time.Second {
				share, latency = tr.from20, latency+tr.slow20
				if tr.stops20 {
					continue
				}
			}
			owed += share
			failed := owed >= 1
			if failed {
				owed--
			}
			require.NoError(t, r.Add(timeline.Sample{Caller: tr.from, Target: tr.to, Lane: "l", Start: at, End: at + latency, Failed: failed, Final: failed}))
		}
	}
	return r
}

func factsOf(t testing.TB, r *timeline.Run, e offline.Event) offline.Facts {
	t.Helper()
	f := offline.Facts{Event: e, RunID: "live", Graph: r.Graph(timeline.GraphQuery{})}
	if len(f.Graph.Edges) > 0 { // an empty run has no window
		var err error
		f.Window, err = r.StateWindow(timeline.Query{})
		require.NoError(t, err)
	}
	return f
}

func second(n float64) time.Time { return epoch.Add(time.Duration(n * float64(time.Second))) }

func TestJudge(t *testing.T) {
	calm := traffic{from: "desk.answer", to: "stock.get"}
	for _, tc := range []struct {
		why       string
		event     offline.Event
		calls     []traffic
		want, how string
	}{
		{"the deepest of those that fail", offline.Event{Reason: "error"},
			[]traffic{{to: "desk.answer", from20: 1}, {from: "desk.answer", to: "orders.get", from20: 1}, {from: "orders.get", to: "db.query", from20: 1}, calm}, "db.query", offline.Failing},
		{"a caller whose callees are well fails by itself", offline.Event{Reason: "error"},
			[]traffic{{to: "desk.answer", from20: 1}, {from: "desk.answer", to: "orders.get"}, calm}, "desk.answer", offline.Failing},
		{"the deepest of those that are slow", offline.Event{Reason: "latency"},
			[]traffic{{to: "desk.answer", slow20: 200 * time.Millisecond}, {from: "desk.answer", to: "orders.get", slow20: 180 * time.Millisecond}, calm}, "orders.get", offline.Slow},
		{"a slow callee makes its caller run into timeouts", offline.Event{Reason: "latency"},
			[]traffic{{to: "desk.answer", from20: 1}, {from: "desk.answer", to: "orders.get", slow20: 3 * time.Second}}, "orders.get", offline.Slow},
		{"a failing callee makes its caller slow, which tries again", offline.Event{Reason: "error"},
			[]traffic{{to: "desk.answer", slow20: time.Second}, {from: "desk.answer", to: "orders.get", from20: 0.5}}, "orders.get", offline.Failing},
		{"of two outages at once, that in the event's namespace", offline.Event{Namespace: "mail", Reason: "error"},
			[]traffic{{to: "orders.get", from20: 1}, {to: "mail.send", from20: 0.9}}, "mail.send", offline.Failing},
		{"of two faults at once, the one that fits the reason", offline.Event{Reason: "latency"},
			[]traffic{{to: "orders.get", from20: 0.8}, {to: "mail.send", slow20: time.Second}}, "mail.send", offline.Slow},
		{"a namespace that no node has decides nothing", offline.Event{Namespace: "kube-system", Reason: "BackOff"},
			[]traffic{{to: "orders.get"}, {to: "mail.send", from20: 1}}, "mail.send", offline.Failing},
		{"nor does a namespace whose nodes are well", offline.Event{Namespace: "orders", Reason: "error"},
			[]traffic{{to: "orders.get"}, {to: "mail.send", from20: 1}}, "mail.send", offline.Failing},
		{"what has always failed is no news", offline.Event{Reason: "error"},
			[]traffic{{to: "flaky.get", from20: 0.5, always: 0.5}, {to: "mail.send", from20: 0.5}}, "mail.send", offline.Failing},
		{"a few failures do not explain an outage of the caller", offline.Event{Reason: "error"},
			[]traffic{{to: "desk.answer", from20: 1}, {from: "desk.answer", to: "orders.get", from20: 0.1}}, "desk.answer", offline.Failing},
		{"some of the calls", offline.Event{Reason: "error"},
			[]traffic{{to: "orders.get"}, {to: "mail.send", from20: 0.3}}, "mail.send", offline.Failing},
		{"nothing is wrong", offline.Event{Reason: "error"}, []traffic{{to: "orders.get"}, calm}, "", ""},
		{"nobody was called", offline.Event{Reason: "error"}, nil, "", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			tc.event.At = second(20.1)
			v := offline.Judge(factsOf(t, runOf(t, 60, tc.calls...), tc.event))
			assert.Equal(t, tc.want, v.Culprit.Node)
			assert.Equal(t, tc.how, v.Culprit.How)
			if tc.want == "" {
				assert.Zero(t, v)
				return
			}
			assert.WithinDuration(t, second(20), v.Since, 4*time.Second)
			assert.WithinDuration(t, second(40), v.Until, 4*time.Second)
			assert.True(t, v.Settled)
			assert.Positive(t, v.Confidence)
			assert.Less(t, v.Confidence, 1.0, "arithmetic is never certain")
		})
	}
}

func TestNodesThatCallEachOther(t *testing.T) {
	v := offline.Judge(factsOf(t, runOf(t, 60, traffic{from: "a.x", to: "b.x", from20: 1}, traffic{from: "b.x", to: "a.x", from20: 1}),
		offline.Event{Namespace: "b", Reason: "error", At: second(20)}))
	assert.Equal(t, "b.x", v.Culprit.Node, "neither explains the other; the namespace decides")
	assert.Equal(t, "a.x", v.RunnerUp.Node)
}

func TestWhoElseWasAffected(t *testing.T) {
	v := offline.Judge(factsOf(t, runOf(t, 60, traffic{to: "desk.answer", from20: 0.5}, traffic{from: "desk.answer", to: "orders.get", from20: 1},
		traffic{from: "desk.answer", to: "mail.send", stops20: true}, traffic{from: "orders.get", to: "db.query", stops20: true}, traffic{to: "other.job"}),
		offline.Event{Reason: "error", At: second(20.1)}))
	require.Equal(t, "orders.get", v.Culprit.Node)
	var felt []string
	for _, a := range v.Victims {
		felt = append(felt, a.Node+" "+a.Link+" "+a.How)
	}
	assert.Equal(t, []string{"db.query is called by it starved", "desk.answer calls it failing", "mail.send beside it starved"}, felt)
}

func TestConfidenceFollowsTheEvidence(t *testing.T) {
	judge := func(until int, e offline.Event, calls ...traffic) float64 {
		e.Reason = "error"
		if e.At.IsZero() {
			e.At = second(20.1)
		}
		v := offline.Judge(factsOf(t, runOf(t, until, calls...), e))
		require.Equal(t, "mail.send", v.Culprit.Node)
		return v.Confidence
	}
	plain := judge(60, offline.Event{}, traffic{to: "mail.send", from20: 1})
	assert.Equal(t, "high", offline.Word(plain))
	assert.Less(t, judge(60, offline.Event{}, traffic{to: "mail.send", from20: 0.3}), plain, "some of the calls are less plain than all")
	assert.Less(t, judge(60, offline.Event{}, traffic{to: "mail.send", from20: 1}, traffic{to: "orders.get", from20: 0.8}), plain, "another suspect")
	assert.Less(t, judge(10, offline.Event{At: second(0)}, traffic{to: "mail.send", always: 1}), plain, "nothing to compare with")
	assert.Equal(t, []string{"low", "medium", "high"}, []string{offline.Word(0.1), offline.Word(0.4), offline.Word(0.9)})
}

func TestWhatGoesOnIsNotSettled(t *testing.T) {
	e := offline.Event{Reason: "error", At: second(20)}
	for until, settled := range map[int]bool{30: false, 41: false, 60: true} {
		v := offline.Judge(factsOf(t, runOf(t, until, traffic{to: "mail.send", from20: 1}), e))
		assert.Equal(t, settled, v.Settled, "%d s", until)
	}
}

// FuzzJudge judges made-up answers of servers.
func FuzzJudge(f *testing.F) {
	seed, err := json.Marshal(factsOf(f, runOf(f, 60, traffic{to: "desk.answer", from20: 1}, traffic{from: "desk.answer", to: "orders.get", from20: 1}),
		offline.Event{Reason: "error", At: second(20.1)}))
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"Graph":{"edges":[{"fromNodeId":"a","toNodeId":"a"}]},"Window":{"series":[{"nodeId":"a","metrics":{"attempts":[1,null,-1],"failures":[1],"served":[9,9],"latency":[1e308,1e308]}}]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var facts offline.Facts
		if json.Unmarshal(doc, &facts) != nil {
			return
		}
		v := offline.Judge(facts)
		assert.True(t, v.Confidence >= 0 && v.Confidence < 1, "%v", v.Confidence)
		report := (&offline.Inquiry{Facts: facts, Verdict: v}).Report()
		again := (&offline.Inquiry{Facts: facts, Verdict: offline.Judge(facts)}).Report()
		assert.Equal(t, string(report), string(again), "the same facts, the same report")
		assert.GreaterOrEqual(t, len(report), incident.MinReport)
		assert.NotContains(t, string(report), "The report ends here")
	})
}
