package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Graph shows who called whom, over a whole run.
type Graph struct {
	Nodes      []Node  `json:"nodes"`
	Edges      []Edge  `json:"edges"`
	Subsystems []Named `json:"subsystems,omitempty"`
	Classes    []Named `json:"classes,omitempty"`
}

// Named is a subsystem or a class. Its id is its name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// A Node is an agent or an injection point. Its subsystem is the part of its
// name before the first dot, "" where there is none.
type Node struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Type      NodeType `json:"type"`
	Subsystem string   `json:"subsystemId,omitempty"`
}

// An Edge counts the calls of one class from one node to another. Calls in flight
// count as attempts.
type Edge struct {
	From     string `json:"fromNodeId"`
	To       string `json:"toNodeId"`
	Class    string `json:"classId,omitempty"`
	Attempts int64  `json:"attempts" jsonschema:"calls, retries included"`
	Failures int64  `json:"failures" jsonschema:"calls that failed"`
}

// GraphQuery narrows a graph. The zero value narrows nothing.
type GraphQuery struct {
	_ struct{}
	// Subsystem keeps the edges that begin or end in it; "": all.
	Subsystem string
	// Class keeps the edges of that class; "": all.
	Class string
}

// Graph returns the nodes and edges of the run, each list sorted. A node that calls
// and is never called is an agent. A subsystem or class that the run does not have
// gives an empty graph.
func (r *Run) Graph(q GraphQuery) Graph {
	ix := r.index.Load()
	g := Graph{Nodes: []Node{}, Edges: []Edge{}}
	nodes := map[string]Node{}
	var subsystems, classes []string
	near := func(k edgeKey) bool {
		return (q.Class == "" || k.class == q.Class) &&
			(q.Subsystem == "" || subsystem(k.caller) == q.Subsystem || subsystem(k.target) == q.Subsystem)
	}
	for _, s := range ix.where(near) {
		e := s.edge()
		g.Edges = append(g.Edges, e)
		for _, name := range []string{e.From, e.To} {
			nodes[name] = Node{ID: name, Name: name, Type: ix.nodeType(name), Subsystem: subsystem(name)}
		}
		classes = append(classes, e.Class)
	}
	g.Nodes = slices.AppendSeq(g.Nodes, maps.Values(nodes))
	slices.SortFunc(g.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range g.Nodes {
		subsystems = append(subsystems, n.Subsystem)
	}
	g.Subsystems, g.Classes = distinct(subsystems), distinct(classes)
	return g
}

// Calls returns the number of attempts and failures of all edges.
func (g Graph) Calls() (attempts, failures int64) {
	for _, e := range g.Edges {
		attempts, failures = attempts+e.Attempts, failures+e.Failures
	}
	return attempts, failures
}

func (s *series) edge() Edge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Edge{From: s.caller, To: s.target, Class: s.class,
		Attempts: s.attempts + int64(len(s.pending)), Failures: s.failures}
}

func (ix *index) nodeType(node string) NodeType {
	called := ix.where(callsTo(node, nil))
	if len(called) == 0 {
		return NodeAgent
	}
	rank := lowestRank
	for _, s := range called {
		s.mu.Lock()
		rank = min(rank, s.rank)
		s.mu.Unlock()
	}
	return nodeTypes[rank]
}

func subsystem(node string) string {
	name, _, dotted := strings.Cut(node, ".")
	if !dotted {
		return ""
	}
	return name
}

// distinct returns the names other than "", sorted, each once.
func distinct(names []string) []Named {
	slices.Sort(names)
	var found []Named
	for _, name := range slices.Compact(names) {
		if name != "" {
			found = append(found, Named{ID: name, Name: name})
		}
	}
	return found
}
