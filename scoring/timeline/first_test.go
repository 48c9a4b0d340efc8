package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// What is kept and what is left out are the whole, whatever the limit.
func TestTheFirstAndTheOmittedAreTheWhole(t *testing.T) {
	graph := timeline.Graph{
		Nodes: []timeline.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}},
		Edges: []timeline.Edge{{From: "a", To: "b", Attempts: 3, Failures: 1}, {From: "b", To: "c", Attempts: 2}},
	}
	attempts, failures := graph.Calls()
	assert.Equal(t, []int64{5, 1}, []int64{attempts, failures})
	window := timeline.Window{Window: timeline.WindowBounds{StartBin: 3, EndBin: 4}}
	comparison := timeline.Comparison{Degradation: map[string]timeline.Value{"a": 0.5, "b": 0, "c": 1}}
	impact := timeline.Impact{Affected: []timeline.Affected{{Node: "a"}}, Unaffected: []string{"b"}, NotJudged: []string{"c"}}
	for _, node := range []string{"a", "b", "c"} {
		window.Series = append(window.Series, timeline.Series{Node: node,
			Metrics: map[timeline.Metric][]timeline.Value{timeline.Served: {1, 2}, timeline.Errors: {0, 0}}})
		comparison.Changes = append(comparison.Changes, timeline.Change{Node: node, Metric: timeline.Served}, timeline.Change{Node: node, Metric: timeline.Errors})
	}
	assert.Equal(t, 12, window.Values(2))
	for limit, edges := range []int{0, 0, 1, 2, 2} {
		shown := min(limit, 3)
		g, omitted := graph.First(limit)
		assert.Equal(t, []int{shown, edges, 5 - shown - edges}, []int{len(g.Nodes), len(g.Edges), omitted}, limit)
		w, omitted := window.First(limit)
		assert.Equal(t, []int{shown, 3 - shown}, []int{len(w.Series), omitted}, limit)
		i, omitted := impact.First(limit)
		assert.Equal(t, []int{min(limit, 1), shown, 3 - shown}, []int{len(i.Affected), len(i.Affected) + len(i.Unaffected) + len(i.NotJudged), omitted}, limit)
		c, omitted := comparison.First(limit, timeline.Errors)
		assert.Equal(t, []int{shown, shown, 3 - shown}, []int{len(c.Changes), len(c.Degradation), omitted}, limit)
		for _, change := range c.Changes {
			assert.Equal(t, timeline.Errors, change.Metric)
			assert.Equal(t, comparison.Degradation[change.Node], c.Degradation[change.Node])
		}
	}
	c, _ := comparison.First(1)
	assert.Len(t, c.Changes, 2, "all metrics")
	for values, want := range map[int]int{0: 0, 3: 0, 4: 1, 11: 2, 12: 3, 100: 3} {
		series, omitted := window.Fit(values, timeline.Served, timeline.Errors)
		assert.Equal(t, []int{want, 3 - want}, []int{len(series), omitted}, values)
	}
	series, omitted := window.Fit(100)
	assert.Empty(t, series)
	assert.Zero(t, omitted, "none were asked for")
}
