package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Correct puts calibrations into a report: for each judge that was asked its error rates,
// the corrected rate of answers that hold with its interval by scenario ([stats.Corrected]),
// and warnings. Where the judge was unsure the rate is two: if all those answers were broken,
// and if all held. It takes the calibration of the same judge, version and sentence; else it
// warns and takes one of the same judge and version. Another judge or version errs in its own
// way: without a calibration of its own the report says that the judge was not calibrated.
//
// The verdict and the score do not change: they are about the cells as they were ruled.
// Correct may be called again, with all calibrations: it forgets those of the last call.
//
// Errors: [*FieldError] for a report or a calibration that is nil or makes no sense, and for
// two calibrations of one judge, version and sentence.
func Correct(r *contract.Report, known ...*Calibration) error {
	p := fields.List()
	p.Demand(r != nil, "r", fielderror.Found("nil"), "a report")
	p.Demand(len(known) > 0, "known", fielderror.Found("empty"), "at least one calibration")
	for i, c := range known {
		if c == nil {
			p.Wrong(fmt.Sprintf("known[%d]", i), fielderror.Found("nil"), "a calibration")
			continue
		}
		p.Add(c.check())
		if same := slices.IndexFunc(known[:i], c.isOf); same >= 0 {
			p.Wrong(fmt.Sprintf("known[%d]", i), judging.NameOf(c.Judge, c.Version),
				fmt.Sprintf("one of another judge, version or sentence than known[%d]", same))
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	for i := range r.Judges {
		s := &r.Judges[i]
		s.Calibration = nil
		if c, warning := choose(s, known); c != nil {
			s.Calibration = c.rates(warning)
			c.correct(s, s.Calibration)
		}
	}
	return nil
}

// isOf reports whether both are of the same judge, version and sentence.
func (c *Calibration) isOf(o *Calibration) bool {
	return o != nil && c.Judge == o.Judge && c.Version == o.Version && c.Decide == o.Decide
}

// choose returns the calibration of a judge and version, with a warning if it is not of the sentence that was
// asked; nil: there is none.
func choose(s *scoring.JudgeScore, known []*Calibration) (best *Calibration, warning string) {
	for _, c := range known {
		if c.Judge == s.Judge && c.Version == s.Version {
			if c.Decide == s.Decide {
				return c, ""
			}
			best, warning = c, "the calibration is of another sentence than the one that was asked, or of several"
		}
	}
	return best, warning
}

// rates returns what a report shows of a calibration.
func (c *Calibration) rates(warning string) *scoring.JudgeRates {
	out := &scoring.JudgeRates{Judge: c.Judge, Version: c.Version, Date: c.Date, Sample: c.Sample,
		Found: c.Sensitivity.Right, Bad: c.Sensitivity.Of, Spared: c.Specificity.Right, Good: c.Specificity.Of}
	for _, a := range c.Attacks {
		out.Moved, out.Attacks = out.Moved+a.Moved, out.Attacks+a.Tried
	}
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	if warning != "" {
		warn("%s", warning)
	}
	if out.Moved > 0 {
		warn("%s talked the judge round", text.Plural(out.Moved, "attack"))
	}
	return out
}

// correct adds the corrected shares, and what makes them doubtful.
func (c *Calibration) correct(s *scoring.JudgeScore, out *scoring.JudgeRates) {
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	n := s.Held + s.Broken
	switch {
	case out.Bad == 0 || out.Good == 0:
		warn("the calibration decided no broken or no held answer, so nothing can be corrected")
		return
	case n == 0:
		return
	}
	// Whole numbers: as floating-point numbers 0.8 and 0.4 are together above 1.2.
	bad, good := int64(out.Bad), int64(out.Good)
	if together := int64(out.Found)*good + int64(out.Spared)*bad; 10*together <= 12*bad*good {
		warn("sensitivity and specificity are together %v, where 1 is a coin and 1.2 the least that is useful",
			math.Round(100*float64(together)/float64(bad*good))/100)
	}
	if s.Distinct < n {
		warn("of %s answers only %s are different: the interval may be too narrow", text.Number(n),
			text.Number(s.Distinct))
	}
	least, low, err := corrected(s, out, 0)
	most, high, failed := corrected(s, out, 1)
	if err != nil || failed != nil {
		warn("a judge that is no better than a coin corrects nothing")
		return
	}
	out.Least, out.Most, out.Interval = &least, &most, low
	out.Interval.High = high.High
}

// corrected is the share with all answers of which the judge was unsure as broken, or as held.
func corrected(s *scoring.JudgeScore, c *scoring.JudgeRates, unsure int) (float64, scoring.Interval, error) {
	var judged []stats.Tally
	for _, own := range s.ByScenario() {
		t := stats.Tally{Passed: own.Held + unsure*own.Unsure, Trials: own.Held + own.Broken + own.Unsure}
		if t.Trials > 0 {
			judged = append(judged, t)
		}
	}
	// Of a judge of prose "passed" is "held": right is how often it rules so of what holds.
	return stats.Corrected(judged, stats.Tally{Passed: c.Spared, Trials: c.Good},
		stats.Tally{Passed: c.Found, Trials: c.Bad}, scoring.Level95)
}
