package compare

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// Noise is the noise floor: of Pairs trials of two calm scenarios, Differ were not in the
// same state although nothing was different.
type Noise struct {
	Differ int `json:"differ"`
	Pairs  int `json:"pairs"`
}

// Share is the share of pairs that differ, from 0 to 1; 0 without pairs.
func (n *Noise) Share() float64 {
	if n == nil || n.Pairs == 0 {
		return 0
	}
	return share(n.Differ, n.Pairs)
}

// Scenarios compares each scenario of a report with the calm one of that name, trial by
// trial: what the faults of a scenario cost. A field is tested as by [Reports], and Holm's
// method adjusts over all tested fields; Regression says that a field is worse than in
// calm, at [Options].Level. OnlyAfter has the fields whose invariant calm does not ask.
//
// With [Options].Again a second calm scenario gives the noise floor, the share of pairs on
// which calm and calm disagree. A difference that is not above it may be noise.
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
	checkCalm(p, "calm", r, calm)
	if own.Again != "" {
		checkCalm(p, "Options.Again", r, own.Again)
		p.Demand(own.Again != calm, "Options.Again", own.Again, "another scenario than calm")
	}
	t := tableOf(r, "report", p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	c := &Comparison{Before: "in calm", After: "under faults", Calm: calm, Again: own.Again, Level: own.Level,
		Fields: []Field{}}
	if !t.kept {
		c.Unpaired = "the report has counts alone, not the states of its trials"
	}
	if own.Again != "" && t.kept {
		c.Noise = t.noise(calm, own.Again)
	}
	own.Before, own.After = "in "+calm, ""
	for _, at := range t.order {
		if at.scenario == calm || at.scenario == own.Again {
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

func checkCalm(p *fielderror.List, field string, r *contract.Report, name string) {
	if !slices.Contains(r.Scenarios, name) {
		p.Wrong(field, name, strings.Join(r.Scenarios, ", ")+text.Meant(name, r.Scenarios))
		return
	}
	for _, c := range r.Counts {
		if c.Scenario == name && c.HasRules {
			p.Wrong(field, name, "a scenario without rules")
			return
		}
	}
}

// noise counts the pairs of trials on which two scenarios disagree.
func (t *table) noise(calm, again string) *Noise {
	n := new(Noise)
	for _, at := range t.order {
		other := t.sides[place{again, at.invariant}]
		if at.scenario != calm || other == nil {
			continue
		}
		p := pairsOf(t.sides[at], other)
		n.Differ += p.Better + p.Worse
		n.Pairs += sizeOf(p)
	}
	return n
}

// sizeOf is the number of pairs.
func sizeOf(p stats.Pairs) int { return p.Both + p.Better + p.Worse + p.Neither }
