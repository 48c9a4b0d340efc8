package compare

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// Scenarios compares each scenario of a report with the calm one of that name, trial by
// trial: what the faults of a scenario cost. A field is tested as by [Reports], and Holm's
// method adjusts over all tested fields; Regression says that a field is worse than in
// calm, at [Options].Level. OnlyAfter has the fields whose invariant calm does not ask.
//
// A second calm scenario is compared as the others are: on as many trials as it disagrees with the
// first, a scenario with faults may do so by chance.
//
// Errors: [*FieldError], joined, for a nil report, a calm scenario that the report does not
// have or that has rules, and options that are not allowed.
func Scenarios(r *contract.Report, calm string, o *Options) (*Comparison, error) {
	p := fields.List()
	own := settled(o, p)
	if r == nil {
		p.Wrong("report", fielderror.Found("nil"), "a report")
		return nil, p.Err()
	}
	checkCalm(p, calm, r)
	t := tableOf(r, "report", p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	c := &Comparison{Before: "in calm", After: "under faults", Calm: calm, Level: own.Level,
		Fields: []Field{}}
	if !t.kept {
		c.Unpaired = "the report has counts alone, not the states of its trials"
	}
	own.Before, own.After = "in "+calm, ""
	for _, at := range t.order {
		if at.scenario == calm {
			continue
		}
		before := t.sides[place{calm, at.invariant}]
		if before == nil {
			c.OnlyAfter = append(c.OnlyAfter, at.String())
			continue
		}
		own.After = "in " + at.scenario
		f := fieldOf(at, before, t.sides[at], t.kept, &own)
		if f.Unclear == "" && r.Sequential {
			f.Unclear = "trials stopped early, which biases shares"
		}
		c.Fields = append(c.Fields, f)
	}
	var err error
	c.Tested, err = adjust(c.Fields, own.Level)
	c.Sees = powerOf(c.Fields, own.Level)
	return c, err
}

func checkCalm(p *fielderror.List, calm string, r *contract.Report) {
	if !slices.Contains(r.Scenarios, calm) {
		p.Wrong("calm", calm, strings.Join(r.Scenarios, ", ")+text.Meant(calm, r.Scenarios))
		return
	}
	rules := slices.ContainsFunc(r.Counts, func(c scoring.Cell) bool { return c.Scenario == calm && c.HasRules })
	p.Demand(!rules, "calm", calm, "a scenario without rules")
}
