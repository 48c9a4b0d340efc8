package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// quietBins bins without a delivery end an episode of a fault. So a fault that
// reaches one call in ten makes one episode, not many.
const quietBins = 3

// FaultStats reports how one fault of one rule affected a node.
//
// An episode is a series of bins with calls to which the fault was delivered, ended
// by three bins without any. Incidents of the node that begin in the episode, or in
// those three bins, are attributed to it. That is based on time alone and proves
// no cause.
type FaultStats struct {
	Node      string `json:"nodeId"`
	Rule      string `json:"rule,omitempty"`
	Fault     string `json:"fault,omitempty"`
	Delivered int64  `json:"delivered"` // calls to which the fault was delivered
	Episodes  int    `json:"episodes"`
	// Detected counts the episodes with an incident. In the others the node continued
	// to serve.
	Detected int `json:"detected"`
	// Recovered counts the detected episodes whose last incident ended before the
	// window did.
	Recovered int `json:"recovered"`
	// MeanTimeToDetect is from the beginning of an episode to the end of the
	// MinBins-th bin of its first incident, when the outage rule can first detect
	// it; in seconds.
	MeanTimeToDetect Value `json:"meanTimeToDetectSec"`
	// MeanTimeToRecover is from the beginning of an episode to the end of its last
	// incident, over the recovered episodes; in seconds.
	MeanTimeToRecover Value `json:"meanTimeToRecoverSec"`
	// RecoveryRate is recovered/detected.
	RecoveryRate Value `json:"recoveryRate"`
}

// Faults returns a row for every node, rule and fault of the window, sorted. All
// times are multiples of the length of a bin, and null where there is nothing to
// average. Errors are [*WindowError] and [*FieldError].
func (r *Run) Faults(q Query, rule OutageRule) ([]FaultStats, error) {
	return judged(r, q, rule, func(x extent, w span, v view) (stats []FaultStats, err error) {
		deliveries, err := r.deliveries(x, v.node, q.Classes)
		if err != nil {
			return nil, err
		}
		incidents := rule.incidents(v, w)
		for _, key := range slices.SortedFunc(maps.Keys(deliveries), faultKey.compare) {
			s := FaultStats{Node: v.node, Rule: key.rule, Fault: key.fault}
			if s.count(deliveries[key], x, w, incidents, rule.minBins()); s.Delivered > 0 {
				stats = append(stats, s)
			}
		}
		return stats, nil
	})
}

func (k faultKey) compare(o faultKey) int {
	return cmp.Or(cmp.Compare(k.rule, o.rule), cmp.Compare(k.fault, o.fault))
}

// deliveries counts the calls of a node to which each fault was delivered, by bin,
// from the first bin that is kept.
func (r *Run) deliveries(x extent, node string, classes []string) (map[faultKey][]int64, error) {
	sum := make(map[faultKey][]int64)
	for _, s := range r.index.Load().where(callsTo(node, classes)) {
		if err := s.lockAt(x); err != nil {
			return nil, err
		}
		for key, counts := range s.faults {
			for i, n := range counts {
				sum[key] = raise(sum[key], i, n)
			}
		}
		s.mu.Unlock()
	}
	return sum, nil
}

func (s *FaultStats) count(deliveries []int64, x extent, w span, incidents []Incident, minBins int) {
	var toDetect, toRecover int64 // bins
	for _, e := range episodes(deliveries, x, w) {
		s.Episodes++
		first, last := within(incidents, e)
		if first < 0 {
			continue
		}
		s.Detected++
		toDetect += int64(incidents[first].StartBin + minBins - e.first)
		if end := incidents[last].EndBin; end < w.last {
			s.Recovered++
			toRecover += int64(end + 1 - e.first)
		}
	}
	for i := w.first - x.first; i <= w.last-x.first && i < len(deliveries); i++ {
		s.Delivered += deliveries[i]
	}
	seconds := x.binSize().Seconds()
	s.MeanTimeToDetect = ratio(float64(toDetect)*seconds, int64(s.Detected))
	s.MeanTimeToRecover = ratio(float64(toRecover)*seconds, int64(s.Recovered))
	s.RecoveryRate = ratio(int64(s.Recovered), int64(s.Detected))
}

// episodes returns the episodes of a window, in bins of the run.
func episodes(deliveries []int64, x extent, w span) []span {
	var found []span
	for i := w.first; i <= w.last && i-x.first < len(deliveries); i++ {
		if deliveries[i-x.first] == 0 {
			continue
		}
		if n := len(found); n > 0 && i-found[n-1].last <= quietBins {
			found[n-1].last = i
		} else {
			found = append(found, span{i, i})
		}
	}
	return found
}

// within returns the first and the last incident that began in an episode or in the
// quiet bins after it; -1 where there is none.
func within(incidents []Incident, e span) (first, last int) {
	first, last = -1, -1
	for i, incident := range incidents {
		if incident.StartBin < e.first || incident.StartBin > e.last+quietBins {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	return first, last
}
