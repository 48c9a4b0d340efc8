package offline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A Verdict is what the facts say.
type Verdict struct {
	Culprit    Symptom // Node is "" where nothing was found
	Since      time.Time
	Until      time.Time // the end of its last bad bin
	Settled    bool      // it has been well for some bins since
	Victims    []Affected
	RunnerUp   Symptom // the other node that it could have been; Node is "": none
	Confidence float64 // 0 to 1
}

// Affected is another node that felt it.
type Affected struct {
	Node string
	Link string // how it is connected with the culprit: "calls it", "is called by it", "beside it"
	How  string // Failing, Slow or Starved
	Symptom
}

// Starved is a node that got less than half of its calls.
const Starved = "starved"

// Weights of what the event says, where several nodes could be meant.
const (
	inNamespace   = 2.0
	fitsReason    = 1.5
	explainsShare = 0.2 // a callee explains its caller with at least so much of its trouble
	settledBins   = 3   // bins with calls, all good, after which a node counts as recovered
)

// Judge decides. It is a pure function.
func Judge(f Facts) Verdict {
	at := binAt(f.Window.Window, f.Event.At)
	all, numbers := make(map[string]Symptom), make(map[string]series)
	for _, s := range f.Window.Series {
		numbers[s.Node] = seriesOf(s)
		if x, ok := numbers[s.Node].symptom(s.Node, at); ok {
			all[s.Node] = x
		}
	}
	suspects := rank(roots(f.Graph, all), f.Event)
	if len(suspects) == 0 {
		return Verdict{}
	}
	v := Verdict{Culprit: suspects[0]}
	if len(suspects) > 1 {
		v.RunnerUp = suspects[1]
	}
	w := f.Window.Window
	v.Since, v.Until = startOf(w, v.Culprit.First), startOf(w, v.Culprit.Last+1)
	if !f.Event.At.Before(v.Since) && f.Event.At.Before(startOf(w, v.Culprit.First+1)) {
		v.Since = f.Event.At // more exact than the bin
	}
	v.Settled = v.Culprit.Good >= settledBins
	v.Victims = victims(f.Graph, v.Culprit, all, numbers)
	v.Confidence = confidence(v, f.Event)
	return v
}

// roots leaves out the nodes whose trouble is explained by one they call.
func roots(g timeline.Graph, all map[string]Symptom) (left []Symptom) {
	for _, x := range all {
		explained := slices.ContainsFunc(g.Edges, func(e timeline.Edge) bool {
			callee, ok := all[e.To]
			return ok && e.From == x.Node && e.To != x.Node && explains(callee, x) && !reaches(g, e.To, x.Node)
		})
		if !explained {
			left = append(left, x)
		}
	}
	return left
}

// explains reports whether the trouble of a callee is enough for its caller's.
func explains(callee, caller Symptom) bool {
	if callee.How != caller.How {
		return true // retries make a caller slow, and slow callees run into its timeouts
	}
	return callee.extent() >= explainsShare*caller.extent()
}

// extent is how much trouble there was: failures, or milliseconds, beyond what is usual.
func (x Symptom) extent() float64 {
	if x.How == Failing {
		return x.During.Failed - x.Before.Share()*x.During.Calls
	}
	return (x.During.Latency - x.Before.Latency) * x.During.Calls
}

// reaches reports whether a node calls another, itself or through others.
func reaches(g timeline.Graph, from, to string) bool {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, e := range g.Edges {
			if e.From != at || seen[e.To] {
				continue
			}
			if e.To == to {
				return true
			}
			seen[e.To] = true
			next = append(next, e.To)
		}
	}
	return false
}

// rank puts the most likely first.
func rank(suspects []Symptom, e Event) []Symptom {
	slices.SortFunc(suspects, func(a, b Symptom) int {
		return cmp.Or(-cmp.Compare(weight(a, e), weight(b, e)), cmp.Compare(a.Node, b.Node))
	})
	return suspects
}

// weight is the score of a suspect, more where the event fits it: of several
// nodes that are unwell at once, each has an event of its own.
func weight(x Symptom, e Event) float64 {
	w := x.Score
	if space, _, _ := strings.Cut(x.Node, "."); e.Namespace != "" && space == e.Namespace {
		w *= inNamespace
	}
	if how := expected(e.Reason); how != "" && how == x.How {
		w *= fitsReason
	}
	return w
}

// expected is how a node with a fault of this reason is unwell; "": any way.
func expected(reason string) string {
	reason = strings.ToLower(reason)
	for _, word := range []string{"latency", "slow", "delay"} {
		if strings.Contains(reason, word) {
			return Slow
		}
	}
	for _, word := range []string{"error", "fail", "partition", "exhaust", "crash"} {
		if strings.Contains(reason, word) {
			return Failing
		}
	}
	return ""
}

// What full confidence takes.
const (
	plainScore    = 0.5  // a node as unwell as that is beyond doubt
	largeBaseline = 20.0 // so many calls before say what is usual
	mostCertain   = 0.95 // that two things happen together is never proof
)

// confidence is the product of how plain the symptom is, how far the next
// suspect is behind, and how much is known of the time before.
func confidence(v Verdict, e Event) float64 {
	plain := min(1, v.Culprit.Score/plainScore)
	separation := 1 - weight(v.RunnerUp, e)/weight(v.Culprit, e)
	known := min(1, v.Culprit.Before.Calls/largeBaseline)
	return mostCertain * plain * (0.5 + 0.5*separation) * (0.5 + 0.5*known)
}

// Word is the confidence in a word: high from 0.6, medium from 0.3, else low.
func Word(confidence float64) string {
	switch {
	case confidence >= 0.6:
		return "high"
	case confidence >= 0.3:
		return "medium"
	}
	return "low"
}

// victims are the other nodes that were unwell, or got fewer calls, at the time.
func victims(g timeline.Graph, c Symptom, all map[string]Symptom, numbers map[string]series) (found []Affected) {
	for node, s := range numbers {
		if node == c.Node {
			continue
		}
		a := Affected{Node: node, Link: link(g, c.Node, node)}
		if x, ok := all[node]; ok && x.First <= c.Last+longestGap && x.Last >= c.First {
			a.How, a.Symptom = x.How, x
			found = append(found, a)
			continue
		}
		a.Before, a.During = s.sum(c.First-lookBack, c.First-1), s.sum(c.First, c.Last)
		lasted, before := float64(c.Last-c.First+1), float64(min(c.First, lookBack))
		if expected := a.Before.Calls / before * lasted; before > 0 && expected >= 4 && a.During.Calls < expected/2 {
			a.How = Starved
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b Affected) int { return cmp.Compare(a.Node, b.Node) })
	return found
}

func link(g timeline.Graph, culprit, node string) string {
	switch {
	case reaches(g, node, culprit):
		return "calls it"
	case reaches(g, culprit, node):
		return "is called by it"
	}
	return "beside it"
}

// lasted is how long the culprit was unwell.
func (v Verdict) lasted() time.Duration {
	return time.Duration(math.Max(0, float64(v.Until.Sub(v.Since))))
}
