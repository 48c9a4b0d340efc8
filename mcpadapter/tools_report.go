package mcpadapter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
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
	report.Digest
	FinishedAt time.Time           `json:"finishedAt" jsonschema:"when the run ended, UTC"`
	Faults     []faultCount        `json:"faults" jsonschema:"what became of each rule, at most 50"`
	Cells      []report.CellDigest `json:"cells,omitzero" jsonschema:"only if asked for"`
	Matching   *int                `json:"matching,omitempty" jsonschema:"number of cells that match the filters"`
	NextOffset *int                `json:"nextOffset,omitempty" jsonschema:"offset of the next page; left out on the last one"`
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

// Bounds of a report.
const (
	defaultPage = 20
	maxFaults   = 50
)

func contractReport() (*tool, error) {
	return define(tool{
		name: "contract_report", title: "Contract report", area: "contract", target: "matrix",
		description: `Shows the latest report of a contract matrix since the server was started: summary, verdict, score and broken cells first; single cells a page at a time with cells true.
States are held, broken, inconclusive, undelivered (no fault of the scenario struck) and not run. Each cell has the contract_run call that repeats it. Times are UTC, elapsedSec in seconds. Narrow by states, scenario and invariant, and ask for evidence of few cells: prompts and answers are long.`,
	}, func(_ context.Context, c *call, in reportInput) (reportOutput, error) {
		_, k, err := c.server.report(in.Matrix)
		if err != nil {
			return reportOutput{}, err
		}
		if err := in.check(k.Report); err != nil {
			return reportOutput{}, err
		}
		out := reportOutput{Digest: digestOf(k), FinishedAt: k.at, Faults: []faultCount{}}
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
	out.Cells = []report.CellDigest{}
	filter := report.CellFilter{States: in.States, Scenario: in.Scenario, Invariant: in.Invariant}
	cells, matching := filter.Page(r, in.Offset, cmp.Or(in.Limit, defaultPage))
	for _, c := range cells {
		out.Cells = append(out.Cells, report.CellDigestOf(c, in.Evidence))
	}
	out.Matching = &matching
	if shown := in.Offset + len(out.Cells); shown < matching {
		out.NextOffset = &shown
	}
	out.Summary = sentences(out.Summary, fmt.Sprintf("Cells %d to %d of %d matching ones.", min(in.Offset+1, matching), min(in.Offset+len(out.Cells), matching), matching))
}
