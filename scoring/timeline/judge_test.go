package timeline_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

func TestAComparisonHasNullsWhereThereIsNothingToCompare(t *testing.T) {
	a, b := newRun(t, nil, failed(call("a", 0))), newRun(t, nil, call("a", 0), call("b", 0))
	c, err := timeline.Compare(a, b, timeline.Query{})
	require.NoError(t, err)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Contains(t, string(text), `{"nodeId":"a","metric":"served","baseline":0,"scenario":1,"change":1,"ratio":null,"worse":false}`)
	assert.Contains(t, string(text), `{"nodeId":"b","metric":"served","baseline":null,"scenario":1,"change":null,"ratio":null,"worse":false}`)
	assert.Contains(t, string(text), `"degradation":{"a":null,"b":null}`, "a served nothing before; b was not there")

	queue := newRun(t, nil, queued("a", 0, 3, 5, 2, 0)...)
	c, err = timeline.Compare(queue, queue, timeline.Query{})
	require.NoError(t, err)
	assert.Equal(t, timeline.Value(5), c.Changes[5].Baseline, "the largest backlog, not a sum")

	_, err = timeline.Compare(a, b, timeline.Query{Nodes: []string{"c"}})
	assert.EqualError(t, err, `timeline: nodeId is "c"; allowed: a node that was called: a, b`)
	_, err = timeline.Compare(a, b, timeline.Query{Classes: []string{"x"}})
	assert.EqualError(t, err, `timeline: classId is "x"; allowed: a class of this run`)
	_, err = timeline.Compare(newRun(t, nil), b, timeline.Query{})
	assert.ErrorContains(t, err, "the run has no samples")
}

func TestABinIsStarvedBelowHalfOfTheArrivalsBefore(t *testing.T) {
	for _, tc := range []struct {
		reason string
		before int // arrivals of b in each bin before the window
		within int // and in the bin of the window
		want   bool
	}{
		{"less than half", 4, 1, true},
		{"exactly half", 4, 2, false},
		{"more than half", 4, 3, false},
		{"nothing arrived", 4, 0, true},
		{"less than half of an odd number", 5, 2, true},
		{"half of an odd number, rounded up", 5, 3, false},
		{"less than half of the least mean that is judged", 1, 0, true},
	} {
		arrivals := []int{tc.before, tc.before, tc.within}
		b := perBin("b", arrivals, arrivals)
		for i := range b {
			b[i].Caller = "a"
		}
		r := newRun(t, nil, append(b, perBin("a", []int{4, 4, 4}, []int{4, 4, 0})...)...)
		impact, err := r.Impact("a", timeline.Query{Start: timeline.Bin(2)}, timeline.OutageRule{})
		require.NoError(t, err)
		if !tc.want {
			assert.Equal(t, []string{"b"}, impact.Unaffected, tc.reason)
			continue
		}
		require.Len(t, impact.Affected, 1, tc.reason)
		assert.Equal(t, "b", impact.Affected[0].Node, tc.reason)
		assert.Equal(t, timeline.Starved, impact.Affected[0].How, tc.reason)
	}
}

func TestARareCallIsNotStarved(t *testing.T) {
	rare := []timeline.Sample{call("rare", 0), call("rare", 2*sec)}
	for i := range rare {
		rare[i].Caller = "a"
	}
	r := newRun(t, nil, append(rare, perBin("a", []int{4, 4, 4, 4, 4, 4}, []int{4, 4, 4, 0, 0, 4})...)...)
	impact, err := r.Impact("a", timeline.Query{Start: timeline.Bin(3)}, timeline.OutageRule{})
	require.NoError(t, err)
	assert.Equal(t, []string{"rare"}, impact.Unaffected, "less than a call a bin says nothing by staying away")
}

func TestImpactGoesOnlyAlongTheCalls(t *testing.T) {
	edge := func(caller, target string) timeline.Sample {
		s := call(target, 0)
		s.Caller = caller
		return s
	}
	r := newRun(t, nil, edge("agent", "a"), edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("agent", "other"))
	impact, err := r.Impact("b", timeline.Query{}, timeline.OutageRule{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "c"}, impact.Unaffected, "each once, though the calls form a ring; other is not connected")
	assert.Equal(t, []string{"agent"}, impact.NotJudged)
	impact, err = r.Impact("b", timeline.Query{Nodes: []string{"c"}}, timeline.OutageRule{})
	require.NoError(t, err)
	assert.Equal(t, []string{"c"}, impact.Unaffected)
	_, err = r.Impact("nope", timeline.Query{}, timeline.OutageRule{})
	assert.ErrorContains(t, err, `nodeId is "nope"; allowed: a node that was called: a, b, c, other`)
}
