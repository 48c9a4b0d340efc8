package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
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
// inequality the chance of a false alarm is at most their sum: Holm's method keeps the first. Of
// the two tests of all fields the second is made only if the first found something, or where
// trials are not paired, in place of the first.
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

// The values of [Field.Standing].
const (
	NewlyBroken = "newly broken"
	StillBroken = "still broken"
	Mended      = "mended"
)

// Standing says on which sides trials of a field broke: NewlyBroken, StillBroken, Mended, or "" for
// neither and for a field that is Unclear. Of trials that are paired, those count that both sides decided. It
// says nothing of chance: that a field is worse is [Field.Regression].
func (f *Field) Standing() string {
	was, is := f.Before.broke(), f.After.broke()
	if p := f.Pairs; p != nil && f.Repeats == nil {
		was, is = p.Better+p.Neither > 0, p.Worse+p.Neither > 0
	}
	switch {
	case f.Unclear != "" || !was && !is:
		return ""
	case !was:
		return NewlyBroken
	case !is:
		return Mended
	}
	return StillBroken
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

func (c *Counts) broke() bool { return c.Decided-c.Held+c.Unprovoked > 0 }

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
	if p.Demand(r != nil, name, fielderror.Found("nil"), "a report"); r == nil {
		return nil
	}
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

// Reports compares the report of a build with that of an earlier one, field by field.
//
// Matrices says in what the matrices differ. Fields in common by their names are compared; the others are listed, and
// so are those whose scenario or prompts changed, since a change of them is no change of the agent.
//
// Each field is tested: trial by trial ([stats.McNemar]) if both reports have one seed, so that equal trials met equal
// faults; otherwise by its counts ([stats.FisherExact]), and so too if an agent that does not repeat itself has other
// numbers of trials. If neither report saw two runs of a scenario differ that met the same, trials may be copies: then
// [Repeats] are tested in their place, and more broken trials count also where no fault was delivered in them. Holm's
// method adjusts over all tested fields. All of them together are tested by trial and by scenario: see [Overall].
//
// A field that is undelivered, inconclusive or not run on one side is neither better nor
// worse, but for one with Repeats that now breaks without a delivered fault. Nor is one of a run
// with [contract.RunOptions.Sequential], whose trials stopped themselves.
//
// Errors: [*FieldError], joined, for a nil report, one without its cells, cells that contradict each
// other, and options that are not allowed.
func Reports(before, after *contract.Report, o *Options) (*Comparison, error) {
	p := fields.List()
	own := settled(o, p)
	was, is := tableOf(before, "before", p), tableOf(after, "after", p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	apart := unpaired(before, after, &own)
	c := &Comparison{Before: own.Before, After: own.After, Level: own.Level, Unpaired: apart, Fields: []Field{},
		Matrices: differences(before, after, apart == "", &own)}
	changed := changedParts(before.Fingerprint, after.Fingerprint)
	for _, at := range is.order {
		switch b := was.sides[at]; {
		case b == nil:
			c.OnlyAfter = append(c.OnlyAfter, at.String())
		case changed(at):
			c.Changed = append(c.Changed, at.String())
		default:
			f := fieldOf(at, b, is.sides[at], c.Unpaired == "", &own)
			if f.Unclear == "" && (before.Sequential || after.Sequential) {
				f.Unclear = "trials stopped early, which biases shares"
			}
			if before.Seed == after.Seed {
				f.repeats(b, is.sides[at], was.repeats[at.scenario], is.repeats[at.scenario])
			}
			c.Fields = append(c.Fields, f)
		}
	}
	for _, at := range was.order {
		if is.sides[at] == nil {
			c.OnlyBefore = append(c.OnlyBefore, at.String())
		}
	}
	return c, c.test(was, is, after.Seed)
}

func (c *Comparison) test(was, is *table, seed uint64) (err error) {
	if c.Tested, err = adjust(c.Fields, shareOfFields*c.Level); err != nil {
		return err
	}
	c.Sees = powerOf(c.Fields, shareOfFields*c.Level)
	return c.overall(was, is, shareOfOverall*c.Level, seed)
}

// repeats notes the runs that were alike on each side, if trials of the field moved for the worse
// or the better. What breaks without a fault needs no fault to be compared.
func (f *Field) repeats(before, after *side, was, is contract.RepeatCount) {
	worse, better := moreBroken(before, after), moreBroken(after, before)
	if was.Alike == 0 || is.Alike == 0 || !worse && !better || f.Unclear != "" && !(worse && after.Unprovoked > 0) {
		return
	}
	f.Unclear = ""
	f.Repeats = &Repeats{Before: was.Alike, After: is.Alike, Groups: max(was.Groups, is.Groups)}
	f.Repeats.worse = worse
}

// moreBroken reports whether a field is worse although chance has no part in it: more
// trials broke that did not before than hold that broke before, be it without a delivered
// fault. Trials that were not made before, or not judged, do not count: they might have
// broken then too.
func moreBroken(before, after *side) bool {
	net := 0
	for trial, is := range after.states {
		was := before.stateOf(trial)
		switch {
		case broke(is) && (was == contract.Held || was == contract.Undelivered):
			net++
		case is == contract.Held && broke(was), is == contract.Undelivered && was == unprovoked:
			net--
		}
	}
	return net > 0
}

func broke(s contract.CellState) bool { return s == contract.Broken || s == unprovoked }

// unpaired says why trials are not compared one by one; empty: they are.
func unpaired(before, after *contract.Report, o *Options) string {
	switch {
	case before.Seed != after.Seed:
		return fmt.Sprintf("the seeds differ, %d %s and %d %s, so equal trials met other faults", before.Seed, o.Before,
			after.Seed, o.After)
	case before.Trials != after.Trials && (before.Repeatable == "no" || after.Repeatable == "no"):
		return "the agent does not repeat itself, and the numbers of trials differ: all are compared"
	}
	return ""
}

// differences says in what two matrices differ. paired reports whether equal trials are compared.
func differences(before, after *contract.Report, paired bool, o *Options) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, side := range []struct {
		report *contract.Report
		name   string
	}{{before, o.Before}, {after, o.After}} {
		if score := side.report.Score; side.report.IsPart() {
			say("the report %s is a part: %d of its %d cells ran", side.name, score.Total-score.NotRun, score.Total)
		}
		if side.report.Cancelled {
			say("the report %s is of a run that was ended: what it lacks may be worse", side.name)
		}
	}
	if before.Name != after.Name {
		say("the name is %q %s and %q %s", before.Name, o.Before, after.Name, o.After)
	}
	if before.Seed != after.Seed {
		say("the seed is %d %s and %d %s", before.Seed, o.Before, after.Seed, o.After)
	}
	if before.Trials != after.Trials {
		first := ""
		if paired {
			first = fmt.Sprintf("; the first %d of them are compared", min(before.Trials, after.Trials))
		}
		say("each field has %d trials %s and %d %s%s", before.Trials, o.Before, after.Trials, o.After, first)
	}
	if before.SharedObservations != after.SharedObservations {
		say("only the report %s shares observations",
			map[bool]string{true: o.Before, false: o.After}[before.SharedObservations])
	}
	for _, name := range after.Invariants {
		if was, is := judgesOf(before, name), judgesOf(after, name); was != "" && is != "" && was != is {
			say("invariant %s was judged by %s %s and by %s %s", name, was, o.Before, is, o.After)
		}
	}
	b, a := before.Fingerprint, after.Fingerprint
	if b == nil || a == nil {
		say("whether prompts and rules are equal is not known: a report has no fingerprint")
		return all
	}
	if b.Prompts != a.Prompts {
		say("the prompts of the matrix differ")
	}
	for _, part := range []struct {
		noun, content        string
		was, is, asked, asks map[string]string
	}{
		{"scenario", "its rules", b.Scenarios, a.Scenarios, b.ScenarioPrompts, a.ScenarioPrompts},
		{"invariant", "its severity, rate or scope", b.Invariants, a.Invariants, b.Probes, a.Probes},
		{"tool", "its input schema or what it declares", before.Tools, after.Tools, nil, nil}, // of the build, and not of the matrix
	} {
		names := slices.AppendSeq(slices.Collect(maps.Keys(part.was)), maps.Keys(part.is))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			was, known := part.was[name]
			is, kept := part.is[name]
			switch {
			case !known:
				say("%s %s is only %s", part.noun, name, o.After)
			case !kept:
				say("%s %s is only %s", part.noun, name, o.Before)
			case was != is:
				say("%s %s differs in %s", part.noun, name, part.content)
			}
			if known && kept && part.asked[name] != part.asks[name] {
				say("%s %s differs in its prompts", part.noun, name)
			}
		}
	}
	return all
}

// judgesOf are the judges of prose that ruled on an invariant, and what each was asked.
func judgesOf(r *contract.Report, invariant string) string {
	var judges []string
	for _, s := range r.Judges {
		if s.Invariant == invariant && s.Held+s.Broken > 0 {
			judges = append(judges, fmt.Sprintf("%s asked %q", judging.NameOf(s.Judge, s.Version), s.Decide))
		}
	}
	slices.Sort(judges)
	return strings.Join(slices.Compact(judges), ", ")
}

// changedParts reports of a field whether its scenario or its prompts changed.
func changedParts(before, after *contract.Fingerprint) func(place) bool {
	if before == nil || after == nil {
		return func(place) bool { return false } // not known, which differences says
	}
	return func(at place) bool {
		probed, probes := before.Probes[at.invariant], after.Probes[at.invariant]
		if before.Scenarios[at.scenario] != after.Scenarios[at.scenario] || probed != probes {
			return true
		}
		// Probes replace the prompts of a scenario, which replace those of the matrix.
		return probes == "" && promptsOf(before, at.scenario) != promptsOf(after, at.scenario)
	}
}

func promptsOf(f *contract.Fingerprint, scenario string) string {
	return cmp.Or(f.ScenarioPrompts[scenario], f.Prompts)
}
