package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The values of [Affected].Direction and [Affected].How.
const (
	Upstream   = "upstream"   // it calls the node, itself or through others
	Downstream = "downstream" // it is called by the node, itself or through others
	Failing    = "failing"    // bad by the outage rule
	Waiting    = "waiting"    // its calls towards the node were in flight, and none ended
	Starved    = "starved"    // it got less than half of its mean arrivals before the window
)

// starvedShare is the share of the mean arrivals before the window below which a bin is
// starved.
const starvedShare = 0.5

// An Impact lists the nodes connected to another that were affected in a window.
type Impact struct {
	Node   string       `json:"nodeId"`
	Window WindowBounds `json:"window"`
	// Affected has the affected nodes: nearest first, upstream before downstream.
	Affected []Affected `json:"affected"`
	// Unaffected has the connected nodes that were not affected.
	Unaffected []string `json:"unaffected"`
	// NotJudged has the connected nodes that were never called, usually agents, and that
	// did not wait. Whether they were affected otherwise is unknown.
	NotJudged []string `json:"notJudged"`
}

// An Affected node failed, waited or starved after the start of the window, with a delay.
type Affected struct {
	Node         string    `json:"nodeId"`
	Direction    string    `json:"direction"`
	Distance     int       `json:"distance"` // in calls
	How          string    `json:"how"`
	StartTs      time.Time `json:"startTs"`
	EndTs        time.Time `json:"endTs"` // exclusive: the end of the last affected bin
	DelayBins    int       `json:"delayBins"`
	DelaySec     float64   `json:"delaySec"`
	AffectedBins int       `json:"affectedBins"`
	Details      string    `json:"details"`
}

// Impact finds the nodes that failed, waited or starved in a window, among those
// connected to a node by calls. The window begins with the node's outage and ends with
// the lookahead. The answer is based on time and calls alone and proves no cause.
// A caller waits in bins in which its calls to the node, or to others that call it, were
// in flight and none of them ended; so callers that nobody calls are judged too. A node
// starves in bins with less than half of its mean arrivals before the window, if
// that mean is at least one a bin. The query's Nodes narrow the answer. Errors are
// [*WindowError] and [*FieldError].
func (r *Run) Impact(node string, q Query, rule OutageRule) (Impact, error) {
	if err := rule.check(); err != nil {
		return Impact{}, err
	}
	return steadily(r, func(x extent) (Impact, error) { return r.impact(x, node, q, rule) })
}

func (r *Run) impact(x extent, node string, q Query, rule OutageRule) (Impact, error) {
	w, err := q.window(x)
	if err != nil {
		return Impact{}, err
	}
	ix := r.index.Load()
	if _, err := ix.checkNodes([]string{node}); err != nil {
		return Impact{}, err
	}
	connected := ix.neighbours(node)
	towards := map[string]bool{node: true}
	for _, n := range connected {
		towards[n.name] = towards[n.name] || n.direction == Upstream
	}
	called := ix.nodes()
	answer := Impact{Node: node, Window: x.bounds(w), Affected: []Affected{}, Unaffected: []string{},
		NotJudged: []string{}}
	for _, n := range connected {
		if q.Nodes != nil && !slices.Contains(q.Nodes, n.name) {
			continue
		}
		in, err := r.view(x, n.name, q.Classes, readingOf(rule.metric()))
		if err != nil {
			return Impact{}, err
		}
		out, err := r.viewOf(x, n.name, func(k edgeKey) bool {
			return k.caller == n.name && n.direction == Upstream && towards[k.target] && ofClass(k, q.Classes)
		}, counts)
		if err != nil {
			return Impact{}, err
		}
		_, judged := slices.BinarySearch(called, n.name)
		if a, hit := rule.affected(in, out, w, n); hit {
			answer.Affected = append(answer.Affected, a)
		} else if judged {
			answer.Unaffected = append(answer.Unaffected, n.name)
		} else {
			answer.NotJudged = append(answer.NotJudged, n.name)
		}
	}
	return answer, nil
}

// affected reports how a node was affected, by the calls that it got and those that it
// made towards the node of the outage: the first of failing, waiting and starved.
func (o OutageRule) affected(in, out view, w span, n neighbour) (Affected, bool) {
	failing, _, _ := o.bad(in, w)
	for _, judged := range []struct {
		how  string
		bad  []bool
		of   view
		note string
	}{
		{Failing, failing, in, ""},
		{Waiting, out.hanging(w), out, " of the calls that it made,"},
		{Starved, in.starved(w), in, ""},
	} {
		found := streaks(judged.bad, o.minBins())
		if len(found) == 0 {
			continue
		}
		bins := 0
		for _, s := range found {
			bins += s.bins()
		}
		first, last := found[0].first, found[len(found)-1].last
		sum := judged.of.total(span{w.first + first, w.first + last})
		return Affected{
			Node: n.name, Direction: n.direction, Distance: n.distance, How: judged.how,
			StartTs: in.start(w.first + first), EndTs: in.start(w.first + last + 1),
			DelayBins: first, DelaySec: (time.Duration(first) * in.binSize()).Seconds(), AffectedBins: bins,
			Details: fmt.Sprintf("%d arrivals, %d served, %d errors%s from first to last affected bin", sum.arrivals,
				sum.served, sum.errors, judged.note),
		}, true
	}
	return Affected{}, false
}

// starved marks the bins with too few arrivals, compared with the mean before the
// window.
func (v view) starved(w span) []bool {
	bad := make([]bool, w.bins())
	if w.first == v.first {
		return bad
	}
	before := mean(v.values(Arrivals, span{v.first, w.first - 1}))
	for i, arrivals := range v.values(Arrivals, w) {
		bad[i] = before >= 1 && float64(arrivals) < starvedShare*float64(before)
	}
	return bad
}

type neighbour struct {
	name, direction string
	distance        int
}

// neighbours returns the nodes reachable along the calls, and against them.
func (ix *index) neighbours(node string) []neighbour {
	callers, callees := map[string][]string{}, map[string][]string{}
	for _, s := range ix.where(func(edgeKey) bool { return true }) {
		callers[s.target] = append(callers[s.target], s.caller)
		callees[s.caller] = append(callees[s.caller], s.target)
	}
	found := append(walk(node, Upstream, callers), walk(node, Downstream, callees)...)
	slices.SortStableFunc(found, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
	seen := map[string]bool{node: true}
	return slices.DeleteFunc(found, func(n neighbour) bool {
		repeated := seen[n.name]
		seen[n.name] = true
		return repeated
	})
}

// walk returns the reachable nodes in the order of their distance.
func walk(from, direction string, next map[string][]string) []neighbour {
	seen := map[string]bool{from: true}
	queue := []neighbour{{name: from, direction: direction}}
	for i := 0; i < len(queue); i++ {
		for _, name := range next[queue[i].name] {
			if !seen[name] {
				seen[name] = true
				queue = append(queue, neighbour{name, direction, queue[i].distance + 1})
			}
		}
	}
	return queue[1:]
}
