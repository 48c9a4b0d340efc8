package timeline

import "slices"

// First returns the graph with its first nodes only, the edges between them, at most
// ten times as many, and how many nodes and edges it leaves out.
func (g Graph) First(nodes int) (first Graph, omitted int) {
	first = Graph{Nodes: append([]Node{}, g.Nodes[:min(len(g.Nodes), max(nodes, 0))]...), Edges: []Edge{},
		Subsystems: g.Subsystems, Classes: g.Classes}
	shown := make(map[string]bool, len(first.Nodes))
	for _, n := range first.Nodes {
		shown[n.ID] = true
	}
	for _, e := range g.Edges {
		if shown[e.From] && shown[e.To] && len(first.Edges) < 10*nodes {
			first.Edges = append(first.Edges, e)
		}
	}
	return first, len(g.Nodes) - len(first.Nodes) + len(g.Edges) - len(first.Edges)
}

// Calls returns the number of attempts and failures of all edges.
func (g Graph) Calls() (attempts, failures int64) {
	for _, e := range g.Edges {
		attempts, failures = attempts+e.Attempts, failures+e.Failures
	}
	return attempts, failures
}

// First returns the window with its first series only, and how many it leaves out.
func (w Window) First(series int) (first Window, omitted int) {
	first = Window{Window: w.Window, Series: w.Series[:min(len(w.Series), max(series, 0))]}
	return first, len(w.Series) - len(first.Series)
}

// Values is how many numbers the series have with so many metrics.
func (w Window) Values(metrics int) int { return len(w.Series) * w.Window.Bins() * metrics }

// Fit returns the series with these metrics only, as many as have at most so many
// numbers together, and how many it leaves out.
func (w Window) Fit(values int, metrics ...Metric) (series []Series, omitted int) {
	series = []Series{}
	if len(metrics) == 0 {
		return series, 0
	}
	fit := min(len(w.Series), values/max(w.Window.Bins()*len(metrics), 1))
	for _, s := range w.Series[:fit] {
		series = append(series, s.Only(metrics...))
	}
	return series, len(w.Series) - fit
}

// Bins is the number of bins.
func (b WindowBounds) Bins() int { return b.EndBin - b.StartBin + 1 }

// First returns the impact with the first nodes only, those that were affected before
// the others, and how many it leaves out.
func (i Impact) First(nodes int) (first Impact, omitted int) {
	left := max(nodes, 0)
	take := func(names []string) []string {
		n := min(len(names), left)
		left, omitted = left-n, omitted+len(names)-n
		return append([]string{}, names[:n]...)
	}
	first = i
	n := min(len(i.Affected), left)
	left, omitted = left-n, len(i.Affected)-n
	first.Affected = append([]Affected{}, i.Affected[:n]...)
	first.Unaffected, first.NotJudged = take(i.Unaffected), take(i.NotJudged)
	return first, omitted
}

// First returns the comparison of its first nodes only, by these metrics (none: all),
// and how many nodes it leaves out.
func (c Comparison) First(nodes int, metrics ...Metric) (first Comparison, omitted int) {
	first = Comparison{Baseline: c.Baseline, Scenario: c.Scenario, Changes: []Change{}, Degradation: map[string]Value{}}
	seen := map[string]bool{} // every node, and whether it is shown
	for _, change := range c.Changes {
		shown, known := seen[change.Node]
		if !known {
			shown = len(first.Degradation) < nodes
			if seen[change.Node] = shown; shown {
				first.Degradation[change.Node] = c.Degradation[change.Node]
			} else {
				omitted++
			}
		}
		if shown && (len(metrics) == 0 || slices.Contains(metrics, change.Metric)) {
			first.Changes = append(first.Changes, change)
		}
	}
	return first, omitted
}
