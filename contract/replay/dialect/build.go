package dialect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/otlp"
)

// A tree is the nodes of a record and how they lie in each other. Indices are those of
// the nodes; -1 is none.
type tree struct {
	nodes  []node
	parent []int
	same   []int   // the node that stands for this one: itself, or the call seen before
	above  []int   // the call within which the node lies
	depth  []int   // the calls within which it lies
	begins []int64 // when the node began, but not before its parent: for the order alone
}

// build makes a session of a record that has a call or a prompt; other records are not runs
// of agents.
func (in *input) build(r *record) {
	in.complete(r)
	t, ok := in.treeOf(r)
	if !ok {
		return
	}
	order := t.calls()
	s := &replay.Session{
		Source: replay.Origin{Dialect: in.dialect, ID: r.id, CapturedAt: r.began},
		Tools:  slices.Clone(in.o.Tools), NotImported: r.lost, Notes: r.notes,
	}
	s.Prompts, s.Answer = t.talk(r, order)
	if len(order) == 0 && len(s.Prompts) == 0 {
		in.notes = append(in.notes, r.notes...)
		return
	}
	base := r.base()
	if r.timed && r.zero == nil && r.began.IsZero() {
		s.Source.CapturedAt = time.Unix(0, base).UTC()
	}
	lanes := t.lanes(order)
	number := make([]int, len(t.nodes))
	s.Calls = make([]findings.Call, 0, len(order))
	for i, at := range order {
		number[at] = i + 1
		c := t.nodes[at].call()
		c.Lane = lanes[at]
		if above := t.above[at]; above >= 0 {
			c.Parent = number[above]
		}
		if r.timed {
			c.At, c.Took = time.Duration(t.nodes[at].start-base), time.Duration(t.nodes[at].end-t.nodes[at].start)
		}
		s.Calls = append(s.Calls, c)
	}
	in.judge(s.Calls, func(i int) *node { return &t.nodes[order[i]] })
	in.clean(s)
	in.sessions = append(in.sessions, s)
}

// base returns the time from which those of the calls are counted.
func (r *record) base() int64 {
	if r.zero != nil || len(r.nodes) == 0 {
		return *cmp.Or(r.zero, new(int64))
	}
	base := r.nodes[0].start
	for i := range r.nodes {
		base = min(base, r.nodes[i].start)
	}
	return base
}

func (n *node) call() findings.Call {
	c := findings.Call{
		Tool: n.name, Args: n.args, ArgsHash: n.argsHash, Result: n.result, Error: n.failure, Truncated: n.truncated,
	}
	if n.kind == model {
		c.Type = findings.Model
	}
	if n.noArgs {
		c.Missing = append(c.Missing, findings.Args)
	}
	if n.noResult && n.failure == nil || n.failure != nil && n.failure.Text == "" {
		c.Missing = append(c.Missing, findings.Result)
	}
	if n.open {
		c.Missing = append(c.Missing, findings.End)
	}
	return c
}

// treeOf joins the nodes to their parents, and the calls that were seen twice.
func (in *input) treeOf(r *record) (*tree, bool) {
	n := len(r.nodes)
	t := &tree{
		nodes: r.nodes, parent: make([]int, n), same: make([]int, n), above: make([]int, n), depth: make([]int, n),
		begins: make([]int64, n),
	}
	for i := range r.nodes {
		at, there := r.byID[r.nodes[i].parent]
		if t.parent[i] = -1; there && r.nodes[i].parent != "" {
			t.parent[i] = at
		}
	}
	before := in.wrong.Count()
	otlp.Cycles(n, func(i int) (int, bool) { return t.parent[i], t.parent[i] >= 0 }, func(i int) {
		in.wrong.Wrong("parent", r.nodes[i].parent, "the id of something that is not inside "+r.nodes[i].id+" itself")
	})
	if in.wrong.Count() > before {
		return nil, false
	}
	t.join()
	return t, true
}

func (t *tree) join() {
	seen := make([]bool, len(t.nodes))
	near := make([]int, len(t.nodes)) // the nearest ancestor that is more than a step between
	byCall := make(map[[2]string]int) // the call of a tool under the id of its request
	var path []int
	for i := range t.nodes {
		for at := i; at >= 0 && !seen[at]; at = t.parent[at] {
			seen[at] = true
			path = append(path, at)
		}
		for ; len(path) > 0; path = path[:len(path)-1] {
			t.place(path[len(path)-1], near, byCall)
		}
	}
}

func (t *tree) place(at int, near []int, byCall map[[2]string]int) {
	n, up := &t.nodes[at], t.parent[at]
	t.same[at], t.above[at], near[at], t.begins[at] = at, -1, -1, n.start
	if up >= 0 {
		t.begins[at] = max(n.start, t.begins[up])
		t.above[at], near[at] = t.above[up], near[up]
		if t.nodes[up].kind != other {
			near[at] = t.same[up]
		}
		if t.nodes[up].isCall() {
			t.above[at] = t.same[up]
		}
		if t.above[at] >= 0 {
			t.depth[at] = t.depth[t.above[at]] + 1
		}
	}
	if !n.isCall() {
		return
	}
	if outer := near[at]; outer >= 0 && t.nodes[outer].isSame(n) {
		t.merge(outer, at)
		return
	}
	if n.callID == "" {
		return
	}
	key := [2]string{n.callID, n.name}
	first, there := byCall[key]
	if there && t.nodes[first].isSame(n) && t.nodes[first].spans(n) {
		t.merge(first, at)
		return
	}
	byCall[key] = at
}

func (n *node) isCall() bool { return n.kind == tool || n.kind == model }

// isSame reports whether an inner call is the outer one, seen by another
// instrumentation: of the same tool with the same arguments, or of the same model,
// whose version one of the two may know more exactly.
func (n *node) isSame(inner *node) bool {
	if n.kind != inner.kind {
		return false
	}
	if n.kind == model {
		return strings.HasPrefix(n.name, inner.name) || strings.HasPrefix(inner.name, n.name)
	}
	return n.name == inner.name && (n.noArgs || inner.noArgs || jsonhash.Sum(n.args) == jsonhash.Sum(inner.args))
}

// spans reports whether one of two nodes lies within the other in time.
func (n *node) spans(m *node) bool {
	return n.start <= m.start && m.end <= n.end || m.start <= n.start && n.end <= m.end
}

// merge has node keep stand for node drop, and takes from it what keep lacks.
func (t *tree) merge(keep, drop int) {
	k, d := &t.nodes[keep], &t.nodes[drop]
	t.same[drop] = keep
	if t.parent[drop] == t.parent[keep] && (d.start < k.start || d.end > k.end) {
		*k, *d = *d, *k // beside each other: the outer one is what the agent saw
		t.begins[keep] = min(t.begins[keep], t.begins[drop])
	}
	if k.noArgs && !d.noArgs {
		k.args, k.noArgs, k.truncated = d.args, false, k.truncated || d.truncated
	}
	if k.noResult && k.failure == nil && d.failure == nil && !d.noResult {
		k.result, k.noResult, k.truncated = d.result, false, k.truncated || d.truncated
	}
	if k.failure != nil && k.failure.Text == "" && d.failure != nil {
		k.failure = d.failure
	}
	if len(k.said.prompts) == 0 {
		k.said.prompts = d.said.prompts
	}
	k.said.answer = cmp.Or(k.said.answer, d.said.answer)
}

// calls returns the calls in the order in which they began, those that enclose others
// before them.
func (t *tree) calls() []int {
	var order []int
	for i := range t.nodes {
		if t.nodes[i].isCall() && t.same[i] == i {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.begins[a], t.begins[b]), cmp.Compare(t.depth[a], t.depth[b]),
			// they began before their parents by another clock, which knows their order
			cmp.Compare(t.nodes[a].start, t.nodes[b].start))
	})
	return order
}

// talk returns prompts and answer: those of the record, else of the outermost node, else
// of the agent that began first, else of the first and the last call of a model.
func (t *tree) talk(r *record, order []int) (prompts []string, answer string) {
	prompts, answer = r.prompts, r.answer
	take := func(s *talk) {
		if len(prompts) == 0 {
			prompts = s.prompts
		}
		answer = cmp.Or(answer, s.answer)
	}
	first := -1
	for i := range t.nodes {
		if t.parent[i] < 0 && t.nodes[i].kind != model {
			take(&t.nodes[i].said)
		}
		if t.nodes[i].kind == agent && (first < 0 || t.begins[i] < t.begins[first]) {
			first = i
		}
	}
	if first >= 0 {
		take(&t.nodes[first].said)
	}
	for _, at := range order {
		if len(prompts) == 0 && t.nodes[at].kind == model {
			prompts = t.nodes[at].said.prompts
		}
	}
	for _, at := range slices.Backward(order) {
		if t.nodes[at].kind == model {
			answer = cmp.Or(answer, t.nodes[at].said.answer)
		}
	}
	return prompts, answer
}
