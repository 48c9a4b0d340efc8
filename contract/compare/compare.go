package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A FieldError names an argument that is not allowed: [scoring.FieldError] with the
// package "compare". A function that finds several problems joins them.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("compare")

// Options are the settings of a comparison; nil and the zero value work.
type Options struct {
	_ struct{}
	// Level is the chance, at most, to call anything a regression when nothing changed. Six
	// tenths of it are for the fields one by one, four tenths for all of them together. 0: 0.05.
	Level float64
	// Before and After name the two reports in texts, such as the names of their files. Empty:
	// "before" and "now".
	Before, After string
}

// The parts of Options.Level, for the fields one by one and for all together. By Bonferroni's
// inequality the chance of a false alarm is at most their sum: Holm's method keeps the first,
// and of the two tests of all fields the second is made only if the first found something.
//
// A flip of six scenarios that all fell has p = 1/64, so a level of 0.02 needs six scenarios.
const (
	shareOfFields  = 0.6
	shareOfOverall = 0.4
)

// A Comparison says what changed between two reports.
type Comparison struct {
	// Before and After are those of the [Options].
	Before string `json:"before"`
	After  string `json:"after"`
	// Level is that of the [Options].
	Level float64 `json:"level"`
	// Matrices are sentences on how the matrices differ; none: they asked the same.
	Matrices []string `json:"matrices,omitempty"`
	// Unpaired is why trials were not compared one by one; empty: they were.
	Unpaired string `json:"unpaired,omitempty"`
	// Fields are those in common, in the order of the report after.
	Fields []Field `json:"fields"`
	// Tested counts the fields with a test, over which Holm's method adjusted.
	Tested int `json:"tested"`
	// Overall is the change of all fields together; nil: fewer than two were tested, or there
	// are no statistics.
	Overall *Overall `json:"overall,omitempty"`
	// OnlyBefore, OnlyAfter and Changed are the fields that only one report has, and
	// those whose scenario or prompts are not the same: "scenario/invariant".
	OnlyBefore []string `json:"onlyBefore,omitempty"`
	OnlyAfter  []string `json:"onlyAfter,omitempty"`
	Changed    []string `json:"changed,omitempty"`
	// Sees is what a field of this comparison could have seen, and Overall.Sees what all
	// together; nil: nothing was tested.
	Sees *Power `json:"sees,omitempty"`
}

// A Field is a field that two reports have in common.
type Field struct {
	Scenario  string            `json:"scenario"`
	Invariant string            `json:"invariant"`
	Severity  contract.Severity `json:"severity"`
	Before    Counts            `json:"before"`
	After     Counts            `json:"after"`
	// Unclear is why the field is neither better nor worse, such as that no fault was
	// delivered; empty: it was compared.
	Unclear string `json:"unclear,omitempty"`
	// Pairs counts the trials that both sides decided, one by one; nil: they are not paired.
	Pairs *stats.Pairs `json:"pairs,omitempty"`
	// Test is "McNemar" of Pairs, "Fisher" of Before and After, or "repeats" of Repeats; empty:
	// none was made.
	Test string `json:"test,omitempty"`
	// Repeats is set if trials moved, and on each side no two runs of the scenario that met
	// the same faults were seen to differ; nil: it is no such field.
	Repeats *Repeats `json:"repeats,omitempty"`
	// P is the p value of the test. Adjusted is P.Worse after Holm's method over
	// [Comparison.Tested] fields.
	P        stats.PValue `json:"p,omitzero"`
	Adjusted float64      `json:"adjusted,omitempty"`
	// Difference is the share after less the share before, with its 95 % interval. With Pairs
	// it is that of the pairs. With Repeats there is none: the trials may be copies.
	Difference stats.Difference `json:"difference,omitzero"`
	// Regression reports whether the field is worse.
	Regression bool `json:"regression,omitempty"`
}

// Repeats are the runs that met the same, on both sides, and were alike on each. If chance
// decides what an agent does, all of Before went one way and all of After the other with a
// chance of at most 1 in C(Before+After, Before).
type Repeats struct {
	// Before and After are the fewest runs that met the same ([contract.RepeatCount].Alike).
	Before int `json:"before"`
	After  int `json:"after"`
	// Groups counts what different runs met, of the side with more: each is a chance.
	Groups int `json:"groups"`

	worse bool // more trials break than before
}

// Counts are the trials of a field on one side: of Decided, Held held.
type Counts struct {
	Held         int `json:"held"`
	Decided      int `json:"decided"`
	Inconclusive int `json:"inconclusive,omitempty"`
	Undelivered  int `json:"undelivered,omitempty"`
	// Unprovoked counts those among Undelivered in which the invariant broke.
	Unprovoked int `json:"unprovoked,omitempty"`
	NotRun     int `json:"notRun,omitempty"`
}

// Regressed reports whether something is worse: a field, or all scenarios together.
func (c *Comparison) Regressed() bool {
	return c.Overall != nil && c.Overall.Regression ||
		slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Regression })
}

// Compared counts the fields that were compared.
func (c *Comparison) Compared() (n int) {
	for i := range c.Fields {
		if c.Fields[i].Unclear == "" {
			n++
		}
	}
	return n
}

func settled(o *Options, p *fielderror.List) Options {
	own := *cmp.Or(o, new(Options))
	own.Level = cmp.Or(own.Level, 0.05)
	p.Demand(own.Level > 0 && own.Level <= 0.5, "Options.Level", own.Level, "above 0 to 0.5, or 0 for 0.05")
	own.Before, own.After = cmp.Or(own.Before, "before"), cmp.Or(own.After, "now")
	return own
}

type place struct{ scenario, invariant string }

func (p place) String() string { return p.scenario + "/" + p.invariant }

// A side is a field in one report.
type side struct {
	Counts
	severity contract.Severity
	states   []contract.CellState // by trial, from 1; noTrial: the report has none
}

// The states of a trial besides those of a cell.
const (
	noTrial    contract.CellState = 255
	unprovoked contract.CellState = 254 // undelivered, and broken all the same
)

func (s *side) add(state contract.CellState, violated bool) {
	switch state {
	case contract.Held:
		s.Held++
		s.Decided++
	case contract.Broken:
		s.Decided++
	case contract.Inconclusive:
		s.Inconclusive++
	case contract.Undelivered:
		s.Undelivered++
		if violated {
			s.Unprovoked++
		}
	case contract.NotRun:
		s.NotRun++
	}
}

func (s *side) stateOf(trial int) contract.CellState {
	if trial < len(s.states) {
		return s.states[trial]
	}
	return noTrial
}

// A table is the fields of a report, in its order.
type table struct {
	sides   map[place]*side
	order   []place
	repeats map[string]contract.RepeatCount // by scenario
}

func tableOf(r *contract.Report, name string, p *fielderror.List) *table {
	p.Demand(len(r.Cells) > 0 || len(r.Counts) == 0, name, fielderror.Found("without its cells"),
		"a report that kept them, or its run file read with them")
	t := &table{sides: map[place]*side{}, repeats: map[string]contract.RepeatCount{}}
	for _, n := range r.Repeats {
		t.repeats[n.Scenario] = n
	}
	sideOf := func(scenario, invariant string, severity contract.Severity) *side {
		at := place{scenario, invariant}
		if t.sides[at] == nil {
			t.sides[at] = &side{severity: severity}
			t.order = append(t.order, at)
		}
		return t.sides[at]
	}
	for i := range r.Fields {
		sideOf(r.Fields[i].Scenario, r.Fields[i].Invariant, r.Fields[i].Severity)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s, trial := sideOf(c.Cell.Scenario, c.Cell.Invariant, c.Severity), c.Cell.Trial
		for len(s.states) < min(trial, max(r.Trials, 1)) {
			s.states = append(s.states, noTrial)
		}
		if trial < 1 || trial > len(s.states) || s.states[trial-1] != noTrial {
			p.Wrong(fmt.Sprintf("%s.Cells[%d].Cell", name, i), c.Cell.String(),
				fmt.Sprintf("each cell once, with a trial from 1 to the %d of Trials", r.Trials))
			continue
		}
		if s.states[trial-1] = c.State; c.State == contract.Undelivered && c.Violated {
			s.states[trial-1] = unprovoked
		}
		s.add(c.State, c.Violated)
	}
	return t
}
