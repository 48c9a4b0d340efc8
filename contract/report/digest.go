package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A Digest is a report in a few lines: verdict and score, what a reader of the verdict must
// know beside it, the broken cells, and the rules that tested nothing. Its lists and texts
// are bounded; Omitted and its like count what they leave out. Members that the report
// has too have its names and its form: see [Schema].
type Digest struct {
	Summary     string       `json:"summary" jsonschema:"the verdict and its reason, and each rejected or open rate, unreached goal and defect, the first few of a kind"`
	Matrix      string       `json:"matrix"`
	Seed        string       `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Sequential  bool         `json:"sequential,omitempty" jsonschema:"fields took trials until they were decided, and the score counts fields instead of cells"`
	Saved       int          `json:"saved,omitempty" jsonschema:"cells that were not needed and not run; no other number counts them" range:"0"`
	Filtered    bool         `json:"filtered,omitempty" jsonschema:"some cells were left out by a filter: goals are not judged"`
	Cancelled   bool         `json:"cancelled,omitempty" jsonschema:"the run ended before all cells had run: goals are not judged"`
	Score       ScoreDigest  `json:"score"`
	Broken      []BrokenCell `json:"broken" jsonschema:"broken cells, critical ones first and trials of accepted rates last, at most 10"`
	Omitted     int          `json:"omitted,omitempty" jsonschema:"broken cells that this answer leaves out"`
	Undelivered []string     `json:"undelivered,omitzero" jsonschema:"rules (scenario: rule) that were never delivered: they have tested nothing; at most 20"`
	Warnings    []string     `json:"warnings,omitzero" jsonschema:"sentences about the run as a whole, at most 20"`
	Notes       []string     `json:"notes,omitzero" jsonschema:"what to know before trusting the numbers, at most 20"`
	ElapsedSec  float64      `json:"elapsedSec" jsonschema:"wall time of the run, in seconds" range:"0"`

	Fields          []contract.Field      `json:"fields,omitzero" jsonschema:"promised rates, fields that lack trials, and those of which some trials held and some broke; rejected and open ones first, at most 20"`
	FieldsOmitted   int                   `json:"fieldsOmitted,omitempty"`
	Goals           []contract.GoalCount  `json:"goals,omitzero" jsonschema:"what at least one run must reach; unreached ones first, at most 20"`
	GoalsOmitted    int                   `json:"goalsOmitted,omitempty"`
	Defects         []contract.Defect     `json:"defects,omitzero" jsonschema:"the ways to break behind the broken cells, the most severe first, at most 5, with at most 10 elements in each of their lists"`
	DefectsOmitted  int                   `json:"defectsOmitted,omitempty"`
	PartsOmitted    int                   `json:"partsOmitted,omitempty" jsonschema:"elements of the lists of these defects that this answer leaves out"`
	SearchStopped   string                `json:"searchStopped,omitempty" jsonschema:"why the search for defects ended early"`
	Coverage        []contract.CoverCount `json:"coverage,omitzero" jsonschema:"delivered faults by target, kind and try; tools that no fault reached (fault is empty) first, at most 20"`
	CoverageOmitted int                   `json:"coverageOmitted,omitempty"`
	Judges          []scoring.JudgeScore  `json:"judges,omitzero" jsonschema:"what judges of prose ruled, and what is known of their errors, at most 10"`
	JudgesOmitted   int                   `json:"judgesOmitted,omitempty"`

	ByScenario *stats.ClusteredShare  `json:"byScenario,omitempty" jsonschema:"the share that held, with an interval that knows that trials of a scenario are alike"`
	Chaos      *scoring.ChaosScore    `json:"chaos,omitempty" jsonschema:"score of the cells under rules, without those that break in calm too"`
	Mutation   *scoring.MutationScore `json:"mutation,omitempty" jsonschema:"score of prompts in other words, 0 to 1"`
	Replay     *scoring.ReplayScore   `json:"replay,omitempty" jsonschema:"score of replayed sessions"`
	Overall    *scoring.Overall       `json:"overall,omitempty" jsonschema:"all scores joined"`
}

// A ScoreDigest is a contract score. Where no cell was decided it has no value.
type ScoreDigest struct {
	Verdict      scoring.Verdict         `json:"verdict"`
	Why          string                  `json:"why" jsonschema:"the reason for the verdict"`
	Value        *float64                `json:"value,omitempty" jsonschema:"0 to 100, severities weighted; left out when no cell was decided" range:"0,100"`
	Passed       int                     `json:"passed" jsonschema:"decided cells that held; fields if sequential" range:"0"`
	Decided      int                     `json:"decided" jsonschema:"cells that held or broke; fields if sequential" range:"0"`
	Total        int                     `json:"total" range:"0"`
	Inconclusive int                     `json:"inconclusive" range:"0"`
	Undelivered  int                     `json:"undelivered" jsonschema:"cells in which no fault was delivered: they count in no score" range:"0"`
	NotRun       int                     `json:"notRun" jsonschema:"cells that were filtered out" range:"0"`
	Interval     *scoring.Interval       `json:"interval,omitempty" jsonschema:"95 % interval of passed/decided, by scenario"`
	Severities   []scoring.SeverityScore `json:"severities,omitzero"`
}

// A BrokenCell says why a cell is broken and how to repeat it.
type BrokenCell struct {
	Cell     string           `json:"cell" jsonschema:"scenario/invariant/trial"`
	Severity scoring.Severity `json:"severity"`
	Why      string           `json:"why"`
	Rerun    string           `json:"rerun" jsonschema:"the call that repeats the cell"`
	// Decision is that on the promised rate that the cell is a trial of; nil: without one.
	Decision *stats.Decision `json:"decision,omitempty" jsonschema:"decision on the promised rate that the cell is a trial of: it alone breaks no promise; left out if the invariant must hold in every trial"`
}

// A CellDigest is one cell, with evidence where it is asked for and was kept.
type CellDigest struct {
	Scenario  string            `json:"scenario"`
	Invariant string            `json:"invariant"`
	Trial     int               `json:"trial"`
	Severity  scoring.Severity  `json:"severity"`
	State     scoring.CellState `json:"state"`
	Broke     bool              `json:"broke,omitempty" jsonschema:"the invariant broke, be it that no fault was delivered"`
	Why       string            `json:"why,omitempty" jsonschema:"why the state is not held"`
	Delivered int               `json:"delivered" jsonschema:"calls on which a fault was delivered, and prompts that were rewritten"`
	Rerun     string            `json:"rerun,omitempty" jsonschema:"the call that repeats the cell"`
	Evidence  *EvidenceDigest   `json:"evidence,omitempty"`
}

// An EvidenceDigest is what a cell kept, its texts clipped.
type EvidenceDigest struct {
	Prompt        string           `json:"prompt"`
	Original      string           `json:"original,omitempty" jsonschema:"the prompt before the scenario rewrote it"`
	Response      string           `json:"response"`
	Error         string           `json:"error,omitempty" jsonschema:"the agent's error"`
	Calls         int              `json:"calls" jsonschema:"calls that crossed an injection point"`
	Faults        []DeliveredFault `json:"faults" jsonschema:"delivered faults in the order of the calls, at most 20"`
	FaultsOmitted int              `json:"faultsOmitted,omitempty"`
}

// A DeliveredFault is a fault that one call met.
type DeliveredFault struct {
	Target  string `json:"target"`
	Fault   string `json:"fault"`
	Rule    string `json:"rule"`
	Ordinal string `json:"ordinal" jsonschema:"number of the call within lane and target, from 0, a decimal string"`
	Error   string `json:"error,omitempty" jsonschema:"what the caller got"`
}

// Bounds of a digest; those of texts are in bytes.
const (
	maxBroken    = 10
	maxUnfired   = 20
	maxWarnings  = 20
	maxShort     = 500
	maxDelivered = 20
	maxLong      = 2000

	maxFields  = 20
	maxGoals   = 20
	maxDefects = 5
	maxParts   = 10 // of each list of a defect, of a score and of a judge
	maxCover   = 20
	maxJudges  = 10
	maxText    = 800
	maxNamed   = 6 // fields in the summary
)

// DigestOf sums a report up. took is how long its run took; 0: not known.
func DigestOf(r *contract.Report, took time.Duration) Digest {
	out := Digest{Matrix: r.Name, Seed: fmt.Sprint(r.Seed), Sequential: r.Sequential, Saved: r.Saved,
		Filtered: r.Filtered, Cancelled: r.Cancelled, Score: ScoreDigestOf(r.Score), Broken: []BrokenCell{},
		ElapsedSec: took.Seconds()}
	promised := decisionsOf(r)
	for _, cell := range Broken(r) {
		if len(out.Broken) == maxBroken {
			out.Omitted++
			continue
		}
		out.Broken = append(out.Broken, BrokenCell{Cell: cell.Cell.String(), Severity: cell.Severity,
			Why: text.Clip(cell.Why, maxShort), Rerun: cell.Rerun, Decision: promised.of(&cell)})
	}
	ran := make(map[string]bool)
	for _, cell := range r.Cells {
		ran[cell.Cell.Scenario] = ran[cell.Cell.Scenario] || cell.State != contract.NotRun
	}
	for _, f := range r.Faults {
		if f.Delivered == 0 && ran[f.Scenario] && len(out.Undelivered) < maxUnfired {
			out.Undelivered = append(out.Undelivered, f.Scenario+": "+f.Rule)
		}
	}
	out.Warnings, _, _ = firstOf(r.Warnings, maxWarnings)
	out.Notes, _, _ = firstOf(append(calmBroken(r), caveats(r)...), maxWarnings)
	out.addLists(r)
	out.addScores(r)
	out.Summary = digestSummary(r, out.Omitted)
	return out
}

func digestSummary(r *contract.Report, omitted int) string {
	noun := "cells"
	if r.Sequential {
		noun = "fields"
	}
	s := fmt.Sprintf("%s: %s. %d of %d decided %s held", verdictName(r), text.Clip(r.Score.Why, maxLong),
		r.Score.Passed, r.Score.Decided, noun)
	if omitted > 0 {
		s += fmt.Sprintf("; %d more broken cells are not shown", omitted)
	}
	parts := append([]string{s + "."}, standing(r)...)
	// The reason of a verdict that is not Fail names the goals, if they were judged.
	unjudged := r.IsPart() || r.Cancelled
	if len(r.Goals) > 0 && (unjudged || r.Score.Verdict == scoring.Fail && len(missedGoals(r)) > 0) {
		parts = append(parts, "Goals: "+goalsText(r)+".")
	}
	if len(r.Defects) > 0 {
		parts = append(parts, defectsHead(r)+".")
	}
	if r.SearchStopped != "" {
		parts = append(parts, "The search is not complete: "+text.Clip(r.SearchStopped, maxShort)+".")
	}
	return text.Sentences(parts...)
}

// standing names the fields that are rejected, open, not judged or lack trials, with what would
// decide them: the reason of the verdict names one at most, and none that is not critical.
func standing(r *contract.Report) []string {
	var names []string
	for _, f := range notable(r) {
		if f.AtLeast != 0 && f.Standing.Decision != stats.Accepted || f.Copies || lacks(r, f) {
			names = append(names, placeText(f)+": "+stands(f))
		}
	}
	if len(names) == 0 {
		return nil
	}
	head := text.Noun(len(names), "Field that is not accepted", "Fields that are not accepted")
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], "and "+text.Number(more)+" more")
	}
	return []string{head + ": " + strings.Join(names, "; ") + "."}
}

func (d *Digest) addLists(r *contract.Report) {
	d.Fields, d.FieldsOmitted, _ = firstOf(notable(r), maxFields)
	goals := slices.Clone(r.Goals)
	slices.SortStableFunc(goals, func(a, b contract.GoalCount) int { return compareBool(a.Reached(), b.Reached()) })
	d.Goals, d.GoalsOmitted, _ = firstOf(goals, maxGoals)
	d.Defects, d.DefectsOmitted, d.PartsOmitted = firstOf(r.Defects, maxDefects)
	d.SearchStopped = text.Clip(r.SearchStopped, maxShort)
	coverage := slices.Clone(r.Coverage)
	slices.SortStableFunc(coverage, func(a, b contract.CoverCount) int {
		return compareBool(a.Fault != "", b.Fault != "")
	})
	d.Coverage, d.CoverageOmitted, _ = firstOf(coverage, maxCover)
	d.Judges, d.JudgesOmitted, _ = firstOf(r.Judges, maxJudges)
}

func (d *Digest) addScores(r *contract.Report) {
	d.ByScenario, d.Chaos, d.Replay, d.Mutation, d.Overall = r.ByScenario, r.Chaos, r.Replay, r.Mutation, r.Overall
	shorten(reflect.ValueOf(&d.Mutation).Elem(), maxText)
	shorten(reflect.ValueOf(&d.Overall).Elem(), maxText)
	if o := d.Overall; o != nil { // lists that a client may rely on
		o.Ran, o.Missing = append([]scoring.PartScore{}, o.Ran...), append([]string{}, o.Missing...)
	}
}

// firstOf returns a copy of the first elements of a list, how many it leaves out, and how many
// elements of their own lists.
func firstOf[T any](all []T, most int) (some []T, omitted, parts int) {
	n := min(len(all), most)
	some = append([]T(nil), all[:n]...)
	for i := range some {
		parts += shorten(reflect.ValueOf(&some[i]).Elem(), maxText)
	}
	return some, len(all) - n, parts
}

// shorten bounds the texts and lists in a value, at any depth, and counts the elements that it
// leaves out. Texts of a list have half the bytes of those beside it. What it bounds is new:
// nothing that the value shares with another changes.
func shorten(v reflect.Value, bytes int) (omitted int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text.Clip(v.String(), bytes))
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			v.Set(own)
			return shorten(own.Elem(), bytes)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				omitted += shorten(v.Field(i), bytes)
			}
		}
	case reflect.Slice:
		n := min(v.Len(), maxParts)
		omitted = v.Len() - n
		if !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), n, n)
			reflect.Copy(own, v)
			v.Set(own)
		}
		for i := range n {
			omitted += shorten(v.Index(i), bytes/2)
		}
	}
	return omitted
}

// Broken returns the cells whose invariant broke, the most severe first; also those
// in which no fault was delivered. Trials of a promised rate that was accepted are last.
func Broken(r *contract.Report) []contract.CellReport {
	var cells []contract.CellReport
	for _, c := range r.Cells {
		if c.Violated {
			cells = append(cells, c)
		}
	}
	promised := decisionsOf(r)
	slices.SortStableFunc(cells, func(a, b contract.CellReport) int {
		return cmp.Or(compareBool(promised.kept(&a) == asStated, promised.kept(&b) == asStated),
			cmp.Compare(b.Severity, a.Severity))
	})
	return cells
}

// ScoreDigestOf is a score in the form of a digest.
func ScoreDigestOf(s scoring.ContractScore) ScoreDigest {
	info := ScoreDigest{Verdict: s.Verdict, Why: text.Clip(s.Why, maxLong), Passed: s.Passed, Decided: s.Decided,
		Total: s.Total, Inconclusive: s.Inconclusive, Undelivered: s.Undelivered, NotRun: s.NotRun,
		Severities: s.Severities}
	if s.Decided > 0 {
		info.Value, info.Interval = new(s.Value), new(s.Interval)
	}
	return info
}

// A CellFilter chooses cells of a report; zero fields choose all.
type CellFilter struct {
	_         struct{}
	States    []string // names of [contract.CellState]
	Scenario  string
	Invariant string
}

func (f CellFilter) takes(c contract.CellReport) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, c.State.String())) &&
		(f.Scenario == "" || f.Scenario == c.Cell.Scenario) && (f.Invariant == "" || f.Invariant == c.Cell.Invariant)
}

// Check returns a [*FieldError] for a scenario or an invariant that the report does not
// have, joined.
func (f CellFilter) Check(r *contract.Report) error {
	wrong := fields.List()
	for _, one := range []struct {
		field, name string
		known       []string
	}{{"scenario", f.Scenario, r.Scenarios}, {"invariant", f.Invariant, r.Invariants}} {
		if one.name != "" && !slices.Contains(one.known, one.name) {
			wrong.Wrong(one.field, one.name, strings.Join(one.known, ", ")+text.Meant(one.name, one.known))
		}
	}
	return wrong.Err()
}

// Page returns the cells that the filter chooses, at most limit of them and without
// the first offset, in the order of the report, and how many there are in all.
func (f CellFilter) Page(r *contract.Report, offset, limit int) (cells []contract.CellReport, matching int) {
	for _, c := range r.Cells {
		if !f.takes(c) {
			continue
		}
		if matching++; matching > offset && len(cells) < limit {
			cells = append(cells, c)
		}
	}
	return cells, matching
}

// CellDigestOf is a cell of a report in the form of a digest.
func CellDigestOf(c contract.CellReport, evidence bool) CellDigest {
	info := CellDigest{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Trial: c.Cell.Trial,
		Severity: c.Severity, State: c.State,
		Broke: c.Violated, Why: text.Clip(c.Why, maxLong), Delivered: c.Delivered, Rerun: c.Rerun}
	if evidence && c.Evidence != nil {
		info.Evidence = evidenceOf(c.Evidence)
	}
	return info
}

func evidenceOf(o *contract.Observation) *EvidenceDigest {
	e := &EvidenceDigest{Prompt: text.Clip(o.Prompt, maxLong), Response: text.Clip(o.Response, maxLong),
		Calls: len(o.Events) + o.Dropped, Faults: []DeliveredFault{}}
	if o.Original != nil {
		e.Original = text.Clip(*o.Original, maxLong)
	}
	if o.Err != nil {
		e.Error = text.Clip(usercode.ErrorText(o.Err), maxLong)
	}
	for _, event := range o.Events {
		switch {
		case !event.Delivered:
		case len(e.Faults) == maxDelivered:
			e.FaultsOmitted++
		default:
			e.Faults = append(e.Faults, deliveredFaultOf(event))
		}
	}
	return e
}

func deliveredFaultOf(e chaos.Event) DeliveredFault {
	return DeliveredFault{Target: e.Target, Fault: e.Fault, Rule: e.Rule, Ordinal: fmt.Sprint(e.Ordinal),
		Error: text.Clip(e.Err, maxShort)}
}
