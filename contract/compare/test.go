package compare

import (
	"errors"
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/contract"
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
		was, is := before.stateOf(trial), after.stateOf(trial)
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

func sizeOf(p stats.Pairs) int { return p.Both + p.Better + p.Worse + p.Neither }

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
	is, wrong := scoring.Wilson(after.Passed, after.Trials, scoring.Level95)
	if err = errors.Join(err, wrong); err != nil {
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
