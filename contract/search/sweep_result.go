package search

import (
	"context"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// fill takes over what was found so far.
func (r *Swept) fill(ctx context.Context, s *sweeper, m *contract.Matrix, o *Options) {
	r.Runs, r.Elapsed, r.Stopped = s.Runs.Spent.Runs, time.Since(s.Runs.Begun), s.Runs.Cut
	r.Levels = slices.Concat([]Level{s.Single}, s.Follow, []Level{s.Pairs})
	tallies := s.tallies()
	for _, p := range m.Invariants {
		t := tallies[p.Name]
		t.Invariant, t.Severity = p.Name, p.Severity
		r.Invariants = append(r.Invariants, t)
	}
	r.Strength.fill(s, r.Invariants)
	r.Defects = defectsOf(ctx, s, m, o)
}

// fill takes over what single faults changed, and which invariants noticed nothing.
func (r *Strength) fill(s *sweeper, counts []InvariantCount) {
	r.Guards, r.StateUnknown = s.guards()
	for _, g := range r.Guards {
		if g.Changed == changedState.String() {
			r.Changed++
			if len(g.NoticedBy) > 0 {
				r.Noticed++
			}
		}
	}
	for _, c := range counts {
		if c.Broke == 0 && c.Undecided == 0 && c.Runs > 0 {
			r.Idle = append(r.Idle, c.Invariant)
		}
	}
}

// defectsOf merges the findings into defects, and keeps them, as [Explain] does with broken
// cells. What can be left out of a finding's run are its rules.
func defectsOf(ctx context.Context, s *sweeper, m *contract.Matrix, o *Options) []contract.Defect {
	e := &explainer{matrix: m, o: o, rerun: o.rerunOf(ctx, m), secrets: redact.New(o.Secrets, redact.Patterns)}
	for _, f := range s.Found {
		g := &group{scenario: sweepScenario, severity: f.List.Severities[f.X], why: f.Judged().Why,
			first: &contract.CellReport{},
			culprit: culprit{Invariant: f.List.Invariants[f.X], Shape: f.Judged().Shape,
				Source: &source{Cell: f.List.Request(f.Set, 0).Cell, Differ: f.Differ, ByRule: true}}}
		var places []int
		for i, n := range f.Set {
			places = append(places, i)
			rule := f.List.Acts[n].Rule
			g.Source.Rules = append(g.Source.Rules, rule)
			g.Source.Parts = append(g.Source.Parts,
				part{hit: hit{Delivery: contract.Delivery{Rule: rule.Name}}, RuleAt: i})
		}
		if f.Differ == "" {
			g.Set, g.Smallest, g.Cut, g.Sure = places, f.Out.runDigest, f.Cut, f.Sure
			g.Hits, g.Facts = f.Hits(), s.FactsOf(f)
			if g.once = !f.Again && f.Sure == nil; g.once {
				g.Facts = append(g.Facts, "it was not run again: "+s.Runs.Cut)
			}
		}
		e.groups = append(e.groups, g)
	}
	slices.SortStableFunc(e.groups, func(a, b *group) int { return int(b.severity) - int(a.severity) })
	return e.defects()
}
