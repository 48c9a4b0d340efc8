package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

type runInput struct {
	Matrix     string   `json:"matrix,omitempty" jsonschema:"name of the matrix; required where the host has several" len:"1,256"`
	Scenarios  []string `json:"scenarios,omitempty" jsonschema:"run these scenarios only" len:"1,200" each:"1,256"`
	Invariants []string `json:"invariants,omitempty" jsonschema:"ask these invariants only" len:"1,200" each:"1,256"`
	Trial      int      `json:"trial,omitempty" jsonschema:"run this trial only, from 1: what repeats a single cell" range:"1,1000000"`
	Trials     int      `json:"trials,omitempty" jsonschema:"how often each invariant is asked in each scenario; the matrix's own number if left out" range:"1,1000"`
	Seed       string   `json:"seed,omitempty" jsonschema:"seed of all draws, a decimal string; the matrix's own if left out" len:"1,20"`
}

type runOutput struct {
	Summary     string       `json:"summary"`
	Matrix      string       `json:"matrix"`
	Seed        string       `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Score       scoreInfo    `json:"score"`
	Broken      []brokenInfo `json:"broken" jsonschema:"broken cells, critical ones first, at most 10"`
	Omitted     int          `json:"omitted,omitempty" jsonschema:"broken cells that this answer leaves out"`
	Undelivered []string     `json:"undelivered,omitzero" jsonschema:"rules (scenario: rule) that never struck: they have tested nothing; at most 20"`
	Warnings    []string     `json:"warnings,omitzero"`
	ElapsedSec  float64      `json:"elapsedSec" jsonschema:"wall time of the run, in seconds" range:"0"`
}

// scoreInfo is a contract score in the form of an answer.
type scoreInfo struct {
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

type brokenInfo struct {
	Cell     string           `json:"cell" jsonschema:"scenario/invariant/trial"`
	Severity scoring.Severity `json:"severity"`
	Why      string           `json:"why"`
	Rerun    string           `json:"rerun" jsonschema:"the call that repeats the cell"`
}

func contractRun() (*tool, error) {
	return define(tool{
		name: "contract_run", title: "Run a contract", area: "contract", target: "matrix",
		description: `Runs a contract matrix: each invariant in each scenario, every cell an independent run of the agent with the scenario's faults. It does not touch the live injector.
The verdict is pass, fail or inconclusive: one broken critical invariant is a fail whatever the score; too little evidence is inconclusive, never a pass. The score is 0 to 100, severities weighted 3, 2, 1, 1. Cells whose faults never struck are undelivered and in no score.
A whole matrix may take minutes and an agent's calls may cost money: narrow by scenarios and invariants. Progress is sent for every cell if the call has a progress token, and cancelling ends the run. One matrix runs once at a time. contract_report shows cells of the latest run.`,
		kind: kind{write: true, openWorld: true},
	}, func(ctx context.Context, c *call, in runInput) (runOutput, error) {
		m, err := c.server.matrix(in.Matrix)
		if err != nil {
			return runOutput{}, err
		}
		own, chosen, err := in.choose(m)
		if err != nil {
			return runOutput{}, err
		}
		free, err := c.server.single.take(fmt.Sprintf("matrix %q", m.Name))
		if err != nil {
			return runOutput{}, err
		}
		defer free()
		return c.runMatrix(ctx, own, chosen)
	})
}

// choose returns the matrix with the trials and seed asked for, and which cells
// to run.
func (in runInput) choose(m *contract.Matrix) (*contract.Matrix, func(contract.Cell) bool, error) {
	own := *m
	if in.Trials > 0 {
		own.Trials = in.Trials
	}
	if in.Trial > max(own.Trials, 1) {
		return nil, nil, badArguments(fmt.Sprintf("trial is %d; allowed: 1 to %d", in.Trial, max(own.Trials, 1)), "Pass trials as well to have more of them.")
	}
	var problems []error
	if in.Seed != "" {
		seed, err := seedOf("seed", in.Seed)
		own.Seed = seed
		problems = append(problems, err)
	}
	var scenarios, invariants []string
	for _, s := range m.Scenarios {
		scenarios = append(scenarios, s.Name)
	}
	for _, i := range m.Invariants {
		invariants = append(invariants, i.Name)
	}
	problems = append(problems, known("scenarios", in.Scenarios, scenarios), known("invariants", in.Invariants, invariants))
	if err := errors.Join(problems...); err != nil {
		return nil, nil, badArguments(err.Error(), "contract_list lists scenarios and invariants.")
	}
	chosen := func(c contract.Cell) bool {
		return (len(in.Scenarios) == 0 || slices.Contains(in.Scenarios, c.Scenario)) &&
			(len(in.Invariants) == 0 || slices.Contains(in.Invariants, c.Invariant)) && (in.Trial == 0 || in.Trial == c.Trial)
	}
	if !slices.ContainsFunc(own.Cells(), chosen) {
		return nil, nil, badArguments("no cell of the matrix is left by these filters: the invariants do not apply in the scenarios", "contract_list says where each invariant applies.")
	}
	return &own, chosen, nil
}

// known returns an error for the names that do not exist.
func known(field string, asked, names []string) error {
	var problems []error
	for i, name := range asked {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("%s[%d] is %q; allowed: %s%s", field, i, text.Clip(name, maxShown), orNone(names), meant(name, names)))
		}
	}
	return errors.Join(problems...)
}

func (c *call) runMatrix(ctx context.Context, m *contract.Matrix, chosen func(contract.Cell) bool) (runOutput, error) {
	total := 0
	for _, cell := range m.Cells() {
		if chosen(cell) {
			total++
		}
	}
	progress := c.progress(ctx, total)
	began := time.Now()
	done := 0
	r, err := m.Run(ctx, &contract.RunOptions{
		Harness: contract.Harness{
			Around: func(cell contract.Cell, run func(contract.Bubble) *contract.CellReport) {
				if chosen(cell) {
					run(nil)
				}
			},
			Rerun: func(cell contract.Cell) string { return rerunLine(m, cell) },
		},
		OnCell: func(r *contract.CellReport) {
			if chosen(r.Cell) {
				done++
				progress.report(done, fmt.Sprintf("%s: %v", r.Cell, r.State))
			}
		},
	})
	progress.end()
	if err != nil {
		return runOutput{}, err
	}
	k := kept{r, time.Now().UTC(), time.Since(began)}
	c.server.reports.put(m.Name, k)
	return summarize(m.Name, k), nil
}

// rerunLine is the call of contract_run that repeats a cell: same seed, same scenario.
func rerunLine(m *contract.Matrix, cell contract.Cell) string {
	in := runInput{Matrix: m.Name, Scenarios: []string{cell.Scenario}, Invariants: []string{cell.Invariant},
		Trial: cell.Trial, Trials: max(m.Trials, 1), Seed: fmt.Sprint(m.Seed)}
	text, _ := json.Marshal(in) // of texts and numbers
	return "contract_run " + string(text)
}

// Bounds of a summary.
const (
	maxBroken   = 10
	maxUnfired  = 20
	maxWhy      = 500
	maxWarnings = 20
)

func summarize(name string, k kept) runOutput {
	out := runOutput{Matrix: name, Seed: fmt.Sprint(k.Seed), Score: scoreOf(k.Score), Broken: []brokenInfo{}, ElapsedSec: k.took.Seconds()}
	out.Summary = fmt.Sprintf("%s: %s. %d of %d decided cells held", k.Score.Verdict, k.Score.Why, k.Score.Passed, k.Score.Decided)
	for _, cell := range broken(k.Report) {
		if len(out.Broken) == maxBroken {
			out.Omitted++
			continue
		}
		out.Broken = append(out.Broken, brokenInfo{cell.Cell.String(), cell.Severity, text.Clip(cell.Why, maxWhy), cell.Rerun})
	}
	ran := make(map[string]bool)
	for _, cell := range k.Cells {
		ran[cell.Cell.Scenario] = ran[cell.Cell.Scenario] || cell.State != contract.NotRun
	}
	for _, f := range k.Faults {
		if f.Delivered == 0 && ran[f.Scenario] && len(out.Undelivered) < maxUnfired {
			out.Undelivered = append(out.Undelivered, f.Scenario+": "+f.Rule)
		}
	}
	out.Warnings = k.Warnings[:min(len(k.Warnings), maxWarnings)]
	if out.Omitted > 0 {
		out.Summary += fmt.Sprintf("; %d more broken cells are not shown, see contract_report", out.Omitted)
	}
	out.Summary += "."
	return out
}

// broken are the broken cells, the most severe first.
func broken(r *contract.Report) []contract.CellReport {
	var cells []contract.CellReport
	for _, c := range r.Cells {
		if c.Violated {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b contract.CellReport) int { return int(b.Severity) - int(a.Severity) })
	return cells
}

func scoreOf(s scoring.ContractScore) scoreInfo {
	info := scoreInfo{Verdict: s.Verdict, Why: s.Why, Passed: s.Passed, Decided: s.Decided, Total: s.Total, Inconclusive: s.Inconclusive,
		Undelivered: s.Undelivered, NotRun: s.NotRun, Severities: s.Severities}
	if s.Decided > 0 {
		info.Value, info.Interval = new(s.Value), new(s.Interval)
	}
	return info
}
