package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// fieldOf compares two sides, one by one if they are paired.
func fieldOf(at place, before, after *side, paired bool, o *Options) Field {
	f := Field{Scenario: at.scenario, Invariant: at.invariant, Severity: after.severity, Before: before.Counts,
		After: after.Counts}
	switch b, a := before.lacks(), after.lacks(); {
	case b != "" && a != "":
		f.Unclear = fmt.Sprintf("%s %s, %s %s", b, o.Before, a, o.After)
	case b != "":
		f.Unclear = b + " " + o.Before
	case a != "":
		f.Unclear = a + " " + o.After
	case paired:
		pairs := pairsOf(before, after)
		if f.Pairs = &pairs; pairs == (stats.Pairs{}) {
			f.Pairs, f.Unclear = nil, "no trial was decided on both sides"
		}
	}
	return f
}

// lacks says why a side has nothing to compare; empty: it has.
func (s *side) lacks() string {
	switch {
	case s.Decided > 0:
		return ""
	case s.Unprovoked > 0:
		return fmt.Sprintf("undelivered, and broken all the same in %d of %d trials,", s.Unprovoked, s.Undelivered)
	case s.Undelivered > 0 && s.Inconclusive > 0:
		return "undelivered and inconclusive"
	case s.Undelivered > 0:
		return "undelivered"
	case s.Inconclusive > 0:
		return "inconclusive"
	}
	return "not run"
}

// pairsOf counts the trials that both sides decided.
func pairsOf(before, after *side) (p stats.Pairs) {
	for trial := range min(len(before.states), len(after.states)) {
		was, is := before.at(trial), after.at(trial)
		switch {
		case !decided(was) || !decided(is):
		case was == contract.Held && is == contract.Held:
			p.Both++
		case was == contract.Held:
			p.Worse++
		case is == contract.Held:
			p.Better++
		default:
			p.Neither++
		}
	}
	return p
}

func decided(s contract.CellState) bool { return s == contract.Held || s == contract.Broken }

// test makes the exact test of a field, and the difference.
func (f *Field) test() error {
	var err error
	if f.Repeats != nil {
		f.Test = "repeats"
		f.P, err = f.Repeats.test()
		return err
	}
	if f.Pairs != nil {
		f.Test = "McNemar"
		if f.P, err = stats.McNemar(*f.Pairs); err == nil {
			f.Difference, err = stats.PairedDifference(*f.Pairs, scoring.Level95)
		}
		return err
	}
	f.Test = "Fisher"
	before, after := stats.Tally{Passed: f.Before.Held, Trials: f.Before.Decided},
		stats.Tally{Passed: f.After.Held, Trials: f.After.Decided}
	if f.P, err = stats.FisherExact(before, after); err == nil {
		f.Difference, err = unpairedDifference(before, after)
	}
	return err
}

// test is Fisher's exact test of runs that all went one way before, and all the other way now,
// times the groups of runs to which that may happen.
func (r *Repeats) test() (p stats.PValue, err error) {
	p, err = stats.FisherExact(stats.Tally{Passed: r.Before, Trials: r.Before}, stats.Tally{Trials: r.After})
	p.Worse, p.TwoSided = min(1, p.Worse*float64(r.Groups)), min(1, p.TwoSided*float64(r.Groups))
	if !r.worse {
		p.Worse = 1
	}
	return p, err
}

// unpairedDifference is method 10 of R. G. Newcombe, Interval estimation for the
// difference between independent proportions, Statistics in Medicine 17, 1998.
func unpairedDifference(before, after stats.Tally) (stats.Difference, error) {
	was, err := scoring.Wilson(before.Passed, before.Trials, scoring.Level95)
	if err != nil {
		return stats.Difference{}, err
	}
	is, err := scoring.Wilson(after.Passed, after.Trials, scoring.Level95)
	if err != nil {
		return stats.Difference{}, err
	}
	p, q := share(before.Passed, before.Trials), share(after.Passed, after.Trials)
	return stats.Difference{
		Value: q - p,
		Low:   max(-1, q-p-math.Hypot(q-is.Low, was.High-p)),
		High:  min(1, q-p+math.Hypot(is.High-q, p-was.Low)),
		Level: scoring.Level95,
	}, nil
}

func share(passed, trials int) float64 { return float64(passed) / float64(trials) }

// adjust tests all fields that are clear, and applies Holm's method to them. level is the
// chance to call even one of them a regression when nothing changed.
func adjust(all []Field, level float64) (tested int, err error) {
	var at []int
	var p []float64
	for i := range all {
		if all[i].Unclear != "" {
			continue
		}
		if err := all[i].test(); err != nil {
			return 0, fields.Because(all[i].Scenario+"/"+all[i].Invariant, nil, err, "")
		}
		at, p = append(at, i), append(p, all[i].P.Worse)
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return 0, fields.Because("fields", nil, err, "")
	}
	for k, i := range at {
		all[i].Adjusted = adjusted[k]
		all[i].Regression = adjusted[k] <= level
	}
	return len(at), nil
}

// changes are the changes of one scenario.
type changes struct {
	net      int // trials that got better, less those that got worse
	compared int // trials, on each side
}

// changeOf is the change of a field, among equal numbers of trials on both sides: then
// without a change it is as likely up as down, which the sign flip needs. ok is false if
// there are none, because the sides differ in number and the order of trials is not known.
func changeOf(f *Field, before, after *side) (c changes, ok bool) {
	switch {
	case f.Pairs != nil:
		p := f.Pairs
		return changes{p.Better - p.Worse, sizeOf(*p)}, true
	case before.Decided == after.Decided:
		return changes{after.Held - before.Held, after.Decided}, true
	case len(before.states) == 0 || len(after.states) == 0:
		return changes{}, false
	}
	n := min(before.Decided, after.Decided)
	return changes{after.heldOfFirst(n) - before.heldOfFirst(n), n}, true
}

func (s *side) heldOfFirst(n int) (held int) {
	for _, state := range s.states {
		if n == 0 {
			break
		}
		if decided(state) {
			n--
			if state == contract.Held {
				held++
			}
		}
	}
	return held
}

// overallOf is the change over scenarios; nil for fewer than two.
func overallOf(by []changes, level float64, seed uint64) (*Overall, error) {
	if len(by) < 2 {
		return nil, nil
	}
	o := &Overall{Scenarios: len(by)}
	var net []float64
	sum, squares := 0.0, 0.0
	for _, c := range by {
		switch {
		case c.net < 0:
			o.Worse++
		case c.net > 0:
			o.Better++
		}
		x := share(c.net, c.compared)
		net, sum = append(net, x), sum+x
	}
	mean := sum / float64(len(by))
	for _, x := range net {
		squares += (x - mean) * (x - mean)
	}
	n := float64(len(by))
	reach := dist.StudentQuantile(scoring.Level95, len(by)-1) * math.Sqrt(squares/(n-1)/n)
	o.Difference = stats.Difference{Value: mean, Low: max(-1, mean-reach), High: min(1, mean+reach),
		Level: scoring.Level95}
	var err error
	if o.P, err = stats.SignFlip(net, seed); err != nil {
		return nil, fields.Because("scenarios", len(by), err, "")
	}
	o.Regression = o.P.Worse <= level
	return o, nil
}

// The drop that a comparison is measured by.
const (
	seenFrom  = 0.95
	seenPower = 0.8
)

// powerOf is what the median of the tested fields could have seen at a level.
func powerOf(all []Field, level float64) *Power {
	var numbers []int
	paired := false
	for i := range all {
		switch f := &all[i]; {
		case f.Test == "":
		case f.Pairs != nil:
			paired = true
			numbers = append(numbers, sizeOf(*f.Pairs))
		default:
			numbers = append(numbers, min(f.Before.Decided, f.After.Decided))
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	const most = 2000 // beyond, a drop of a point or two is seen
	s := &Power{Trials: numbers[len(numbers)/2], Paired: paired, From: seenFrom, Alpha: level, Chance: seenPower}
	to, err := stats.Detectable(stats.Design{Paired: paired, TwoSamples: !paired}, min(s.Trials, most), seenFrom,
		level, seenPower)
	if err != nil {
		s.Nothing = true
		return s
	}
	s.To = to
	return s
}

// Sees reports whether a drop of this many points, from 0 to 1, would have been seen.
func (s *Power) Sees(drop float64) bool { return s != nil && !s.Nothing && s.From-s.To <= drop+1e-9 }
