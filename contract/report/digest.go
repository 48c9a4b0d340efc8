package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Digest is a report in a few lines: verdict and score, the broken cells, and the
// rules that tested nothing. Its lists are bounded; Omitted counts what they leave
// out.
type Digest struct {
	Summary     string       `json:"summary"`
	Matrix      string       `json:"matrix"`
	Seed        string       `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Score       ScoreDigest  `json:"score"`
	Broken      []BrokenCell `json:"broken" jsonschema:"broken cells, critical ones first, at most 10"`
	Omitted     int          `json:"omitted,omitempty" jsonschema:"broken cells that this answer leaves out"`
	Undelivered []string     `json:"undelivered,omitzero" jsonschema:"rules (scenario: rule) that never struck: they have tested nothing; at most 20"`
	Warnings    []string     `json:"warnings,omitzero"`
	ElapsedSec  float64      `json:"elapsedSec" jsonschema:"wall time of the run, in seconds" range:"0"`
}

// A ScoreDigest is a contract score. Where no cell was decided it has no value.
type ScoreDigest struct {
	Verdict      scoring.Verdict         `json:"verdict"`
	Why          string                  `json:"why" jsonschema:"the reason for the verdict"`
	Value        *float64                `json:"value,omitempty" jsonschema:"0 to 100, severities weighted; left out when no cell was decided" range:"0,100"`
	Passed       int                     `json:"passed" jsonschema:"decided cells that held" range:"0"`
	Decided      int                     `json:"decided" jsonschema:"cells that held or broke" range:"0"`
	Total        int                     `json:"total" range:"0"`
	Inconclusive int                     `json:"inconclusive" range:"0"`
	Undelivered  int                     `json:"undelivered" jsonschema:"cells whose faults never struck: they count in no score" range:"0"`
	NotRun       int                     `json:"notRun" jsonschema:"cells that were filtered out" range:"0"`
	Interval     *scoring.Interval       `json:"interval,omitempty" jsonschema:"95 % Wilson interval of passed/decided"`
	Severities   []scoring.SeverityScore `json:"severities,omitzero"`
}

// A BrokenCell says why a cell is broken and how to repeat it.
type BrokenCell struct {
	Cell     string           `json:"cell" jsonschema:"scenario/invariant/trial"`
	Severity scoring.Severity `json:"severity"`
	Why      string           `json:"why"`
	Rerun    string           `json:"rerun" jsonschema:"the call that repeats the cell"`
}

// A CellDigest is one cell, with evidence where it is asked for and was kept.
type CellDigest struct {
	Scenario  string            `json:"scenario"`
	Invariant string            `json:"invariant"`
	Trial     int               `json:"trial"`
	Severity  scoring.Severity  `json:"severity"`
	State     scoring.CellState `json:"state"`
	Broke     bool              `json:"broke,omitempty" jsonschema:"the invariant broke, be it that no fault struck"`
	Why       string            `json:"why,omitempty" jsonschema:"why the state is not held"`
	Delivered int               `json:"delivered" jsonschema:"calls on which a fault was delivered"`
	Rerun     string            `json:"rerun,omitempty" jsonschema:"the call that repeats the cell"`
	Evidence  *EvidenceDigest   `json:"evidence,omitempty"`
}

// An EvidenceDigest is what a cell kept, its texts clipped.
type EvidenceDigest struct {
	Prompt        string           `json:"prompt"`
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
)

// DigestOf sums a report up. took is how long its run took; 0: not known.
func DigestOf(r *contract.Report, took time.Duration) Digest {
	out := Digest{Matrix: r.Name, Seed: fmt.Sprint(r.Seed), Score: ScoreDigestOf(r.Score), Broken: []BrokenCell{},
		ElapsedSec: took.Seconds()}
	out.Summary = fmt.Sprintf("%s: %s. %d of %d decided cells held", r.Score.Verdict, r.Score.Why, r.Score.Passed,
		r.Score.Decided)
	for _, cell := range Broken(r) {
		if len(out.Broken) == maxBroken {
			out.Omitted++
			continue
		}
		out.Broken = append(out.Broken,
			BrokenCell{cell.Cell.String(), cell.Severity, text.Clip(cell.Why, maxShort), cell.Rerun})
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
	out.Warnings = r.Warnings[:min(len(r.Warnings), maxWarnings)]
	if out.Omitted > 0 {
		out.Summary += fmt.Sprintf("; %d more broken cells are not shown", out.Omitted)
	}
	out.Summary += "."
	return out
}

// Broken returns the cells whose invariant broke, the most severe first; also those
// in which no fault was delivered.
func Broken(r *contract.Report) []contract.CellReport {
	var cells []contract.CellReport
	for _, c := range r.Cells {
		if c.Violated {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b contract.CellReport) int { return int(b.Severity) - int(a.Severity) })
	return cells
}

// ScoreDigestOf is a score in the form of a digest.
func ScoreDigestOf(s scoring.ContractScore) ScoreDigest {
	info := ScoreDigest{Verdict: s.Verdict, Why: s.Why, Passed: s.Passed, Decided: s.Decided, Total: s.Total,
		Inconclusive: s.Inconclusive,
		Undelivered:  s.Undelivered, NotRun: s.NotRun, Severities: s.Severities}
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
	if o.Err != nil {
		e.Error = text.Clip(o.Err.Error(), maxLong)
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
