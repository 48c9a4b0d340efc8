package offline

import (
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// How a node is unwell.
const (
	Failing = "failing"
	Slow    = "slow"
)

// A Rate sums up the calls of a node over some bins.
type Rate struct {
	Calls, Failed float64
	Latency       float64 // mean of what was served, in ms; NaN where nothing was
}

// Share is the part of the calls that failed, 0 to 1; 0 of no calls.
func (r Rate) Share() float64 {
	// A call that fails is counted when it ends, and so may be in a later bin than
	// its attempt.
	if n := max(r.Calls, r.Failed); n > 0 {
		return r.Failed / n
	}
	return 0
}

// A Symptom is what is wrong with a node.
type Symptom struct {
	Node           string
	How            string
	First, Last    int  // the first and the last bad bin of the window
	Good           int  // bins with calls after the last bad one
	Before, During Rate // before the first bad bin, and from it to the last
	Score          float64
}

// When a bin is bad, against the time before.
const (
	riseOfFailures = 0.1 // so much more of the calls fail
	riseOfLatency  = 3   // so many times the latency
	leastLatency   = 5.0 // and at least so much more, in ms
	longestGap     = 3   // so many good or idle bins may lie within one streak
	nearEvent      = 10  // a streak begins or ends at most so many bins from the event
	leastScore     = 0.01
)

// series are the numbers of a node, a value a bin.
type series struct{ attempts, failures, served, latency []timeline.Value }

// seriesOf takes what all metrics have a value for; a server may have left some out.
func seriesOf(s timeline.Series) series {
	m := s.Metrics
	n := min(len(m[timeline.Attempts]), len(m[timeline.Failures]), len(m[timeline.Served]), len(m[timeline.Latency]))
	return series{m[timeline.Attempts][:n], m[timeline.Failures][:n], m[timeline.Served][:n], m[timeline.Latency][:n]}
}

// count returns a value as a number of things; an undefined or negative one is 0.
func count(v timeline.Value) float64 {
	if v.Defined() && v > 0 {
		return float64(v)
	}
	return 0
}

// sum is the rate over bins from to to, both inclusive.
func (s series) sum(from, to int) Rate {
	r := Rate{Latency: math.NaN()}
	var served, spent float64
	for i := max(from, 0); i <= to && i < len(s.attempts); i++ {
		r.Calls += count(s.attempts[i])
		r.Failed += count(s.failures[i])
		if s.latency[i].Defined() {
			served += count(s.served[i])
			spent += count(s.served[i]) * count(s.latency[i])
		}
	}
	if served > 0 {
		r.Latency = spent / served
	}
	return r
}

// symptom looks for what is wrong with a node around bin at. Failing goes
// before slow: retries make a failing node slow too.
func (s series) symptom(node string, at int) (Symptom, bool) {
	for _, how := range []string{Failing, Slow} {
		bad := s.bad(how, at)
		first, last, ok := streak(bad, at)
		if !ok {
			continue
		}
		x := Symptom{Node: node, How: how, First: first, Last: last, Before: s.sum(first-lookBack, first-1),
			During: s.sum(first, last)}
		for i := last + 1; i < len(s.attempts); i++ {
			if s.attempts[i] > 0 {
				x.Good++
			}
		}
		if x.Score = x.score(); x.Score > leastScore {
			return x, true
		}
	}
	return Symptom{}, false
}

// bad says which bins are, compared with the median of those before the event.
func (s series) bad(how string, at int) []bool {
	bad := make([]bool, len(s.attempts))
	var shares, latencies []float64
	for i := range min(at, len(bad)) {
		if r := s.sum(i, i); r.Calls > 0 {
			shares = append(shares, r.Share())
			if !math.IsNaN(r.Latency) {
				latencies = append(latencies, r.Latency)
			}
		}
	}
	usual, latency := median(shares), median(latencies)
	if math.IsNaN(usual) {
		usual = 0 // nothing is known of the time before; confidence says so
	}
	for i := range bad {
		r := s.sum(i, i)
		if how == Failing {
			bad[i] = r.Failed > 0 && r.Share() >= usual+riseOfFailures
		} else { // comparisons with NaN are false: without a time before nothing is slow
			bad[i] = r.Latency > riseOfLatency*latency && r.Latency > latency+leastLatency
		}
	}
	return bad
}

// streak finds the bad bins around at: the streak that holds it, or else the
// nearest. Short gaps do not end a streak.
func streak(bad []bool, at int) (first, last int, ok bool) {
	nearest, distance := -1, nearEvent+1
	for i, b := range bad {
		if d := max(i-at, at-i); b && d < distance {
			nearest, distance = i, d
		}
	}
	if nearest < 0 {
		return 0, 0, false
	}
	first, last = nearest, nearest
	for i := first - 1; i >= 0 && first-i <= longestGap+1; i-- {
		if bad[i] {
			first = i
		}
	}
	for i := last + 1; i < len(bad) && i-last <= longestGap+1; i++ {
		if bad[i] {
			last = i
		}
	}
	return first, last, true
}

// score is how unwell the node was, 0 to 1: of failures the lower end of what
// their share may be, less what is usual; of latency the part of it that is new.
func (x Symptom) score() float64 {
	n := max(x.During.Calls, x.During.Failed)
	if x.How == Failing {
		return max(0, wilsonLower(x.During.Failed, n)-x.Before.Share())
	}
	return (1 - x.Before.Latency/x.During.Latency) * n / (n + 3)
}

// wilsonLower is the lower end of the Wilson score interval at 95 % (Wilson 1927).
func wilsonLower(k, n float64) float64 {
	const z = 1.96
	if n == 0 {
		return 0
	}
	p := k / n
	return (p + z*z/(2*n) - z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))) / (1 + z*z/n)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// binAt is the index within the window of the bin that t falls in.
func binAt(w timeline.WindowBounds, t time.Time) int {
	bin, err := time.ParseDuration(w.BinSize)
	if err != nil || bin <= 0 {
		return 0
	}
	return int(math.Floor(float64(t.Sub(w.Start)) / float64(bin)))
}

// startOf is when a bin of the window begins.
func startOf(w timeline.WindowBounds, bin int) time.Time {
	size, err := time.ParseDuration(w.BinSize)
	if err != nil {
		return w.Start
	}
	return w.Start.Add(time.Duration(bin) * size)
}
