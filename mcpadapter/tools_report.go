package mcpadapter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

type reportInput struct {
	Matrix    string   `json:"matrix,omitempty" jsonschema:"name of the matrix; the one that was run last if left out" len:"1,256"`
	Cells     bool     `json:"cells,omitempty" jsonschema:"list cells, a page at a time" default:"false"`
	States    []string `json:"states,omitempty" jsonschema:"list only cells in these states" len:"1,5" enum:"not run,held,broken,inconclusive,undelivered"`
	Scenario  string   `json:"scenario,omitempty" jsonschema:"list only cells of this scenario" len:"1,256"`
	Invariant string   `json:"invariant,omitempty" jsonschema:"list only cells of this invariant" len:"1,256"`
	Evidence  bool     `json:"evidence,omitempty" jsonschema:"with prompt, answer and faults of each listed cell, where they were kept" default:"false"`
	Offset    int      `json:"offset,omitempty" jsonschema:"leave out so many matching cells first" range:"0,100000000" default:"0"`
	Limit     int      `json:"limit,omitempty" jsonschema:"list at most so many cells" range:"1,200" default:"20"`
}

type reportOutput struct {
	runOutput
	FinishedAt time.Time    `json:"finishedAt" jsonschema:"when the run ended, UTC"`
	Faults     []faultCount `json:"faults" jsonschema:"what became of each rule, at most 50"`
	Cells      []cellInfo   `json:"cells,omitzero" jsonschema:"only if asked for"`
	Matching   *int         `json:"matching,omitempty" jsonschema:"number of cells that match the filters"`
	NextOffset *int         `json:"nextOffset,omitempty" jsonschema:"offset of the next page; left out on the last one"`
}

type faultCount struct {
	Scenario    string `json:"scenario"`
	Rule        string `json:"rule"`
	Target      string `json:"target"`
	Fault       string `json:"fault,omitempty" jsonschema:"its kind, once it struck"`
	Cells       int    `json:"cells" jsonschema:"runs of the agent in which it was delivered"`
	Delivered   int    `json:"delivered" jsonschema:"calls on which it was delivered"`
	Undelivered int    `json:"undelivered" jsonschema:"calls on which it struck without effect"`
}

type cellInfo struct {
	Scenario  string            `json:"scenario"`
	Invariant string            `json:"invariant"`
	Trial     int               `json:"trial"`
	Severity  scoring.Severity  `json:"severity"`
	State     scoring.CellState `json:"state"`
	Broke     bool              `json:"broke,omitempty" jsonschema:"the invariant broke, be it that no fault struck"`
	Why       string            `json:"why,omitempty" jsonschema:"why the state is not held"`
	Delivered int               `json:"delivered" jsonschema:"calls on which a fault was delivered"`
	Rerun     string            `json:"rerun,omitempty" jsonschema:"the call that repeats the cell"`
	Evidence  *evidenceInfo     `json:"evidence,omitempty"`
}

type evidenceInfo struct {
	Prompt        string           `json:"prompt"`
	Response      string           `json:"response"`
	Error         string           `json:"error,omitempty" jsonschema:"the agent's error"`
	Calls         int              `json:"calls" jsonschema:"calls that crossed an injection point"`
	Faults        []deliveredFault `json:"faults" jsonschema:"delivered faults in the order of the calls, at most 20"`
	FaultsOmitted int              `json:"faultsOmitted,omitempty"`
}

type deliveredFault struct {
	Target  string `json:"target"`
	Fault   string `json:"fault"`
	Rule    string `json:"rule"`
	Ordinal string `json:"ordinal" jsonschema:"number of the call within lane and target, from 0, a decimal string"`
	Error   string `json:"error,omitempty" jsonschema:"what the caller got"`
}

// Bounds of a report.
const (
	defaultPage  = 20
	maxFaults    = 50
	maxDelivered = 20
	maxText      = 2000
)

func contractReport() (*tool, error) {
	return define(tool{
		name: "contract_report", title: "Contract report", area: "contract", target: "matrix",
		description: `Shows the latest report of a contract matrix since the server was started: summary, verdict, score and broken cells first; single cells a page at a time with cells true.
States are held, broken, inconclusive, undelivered (no fault of the scenario struck) and not run. Each cell has the contract_run call that repeats it. Times are UTC, elapsedSec in seconds. Narrow by states, scenario and invariant, and ask for evidence of few cells: prompts and answers are long.`,
	}, func(_ context.Context, c *call, in reportInput) (reportOutput, error) {
		name, k, err := c.server.report(in.Matrix)
		if err != nil {
			return reportOutput{}, err
		}
		if err := in.check(k.Report); err != nil {
			return reportOutput{}, err
		}
		out := reportOutput{runOutput: summarize(name, k), FinishedAt: k.at, Faults: []faultCount{}}
		for _, f := range k.Faults[:min(len(k.Faults), maxFaults)] {
			out.Faults = append(out.Faults, faultCount(f))
		}
		if in.Cells {
			out.page(in, k.Report)
		}
		return out, nil
	})
}

func (in reportInput) check(r *contract.Report) error {
	var problems []error
	if in.Scenario != "" {
		problems = append(problems, known("scenario", []string{in.Scenario}, r.Scenarios))
	}
	if in.Invariant != "" {
		problems = append(problems, known("invariant", []string{in.Invariant}, r.Invariants))
	}
	for _, err := range problems {
		if err != nil {
			return badArguments(err.Error(), "contract_list lists scenarios and invariants.")
		}
	}
	return nil
}

// page adds the requested cells, and says where the next page begins.
func (out *reportOutput) page(in reportInput, r *contract.Report) {
	out.Cells = []cellInfo{}
	matching, limit := 0, cmp.Or(in.Limit, defaultPage)
	for _, c := range r.Cells {
		if len(in.States) > 0 && !slices.Contains(in.States, c.State.String()) ||
			in.Scenario != "" && in.Scenario != c.Cell.Scenario || in.Invariant != "" && in.Invariant != c.Cell.Invariant {
			continue
		}
		matching++
		if matching <= in.Offset || len(out.Cells) == limit {
			continue
		}
		out.Cells = append(out.Cells, cellOf(c, in.Evidence))
	}
	out.Matching = &matching
	if shown := in.Offset + len(out.Cells); shown < matching {
		out.NextOffset = &shown
	}
	out.Summary = sentences(out.Summary, fmt.Sprintf("Cells %d to %d of %d matching ones.", min(in.Offset+1, matching), min(in.Offset+len(out.Cells), matching), matching))
}

func cellOf(c contract.CellReport, evidence bool) cellInfo {
	info := cellInfo{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Trial: c.Cell.Trial, Severity: c.Severity, State: c.State,
		Broke: c.Violated, Why: text.Clip(c.Why, maxText), Delivered: c.Delivered, Rerun: c.Rerun}
	if evidence && c.Evidence != nil {
		info.Evidence = evidenceOf(c.Evidence)
	}
	return info
}

func evidenceOf(o *contract.Observation) *evidenceInfo {
	e := &evidenceInfo{Prompt: text.Clip(o.Prompt, maxText), Response: text.Clip(o.Response, maxText), Calls: len(o.Events) + o.Dropped, Faults: []deliveredFault{}}
	if o.Err != nil {
		e.Error = text.Clip(o.Err.Error(), maxText)
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

func deliveredFaultOf(e chaos.Event) deliveredFault {
	return deliveredFault{Target: e.Target, Fault: e.Fault, Rule: e.Rule, Ordinal: fmt.Sprint(e.Ordinal), Error: text.Clip(e.Err, maxWhy)}
}
