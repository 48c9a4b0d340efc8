package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/session"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolrow"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/scoring"
)

type listInput struct {
	Matrix string `json:"matrix,omitempty" jsonschema:"name of one matrix; all if left out" len:"1,256"`
}

type listOutput struct {
	Summary  string       `json:"summary"`
	Matrices []matrixInfo `json:"matrices"`
}

type matrixInfo struct {
	Name       string          `json:"name" jsonschema:"what contract_run and contract_report call it"`
	Cells      int             `json:"cells" jsonschema:"number of cells: invariant x scenario x trial, where the invariant applies"`
	Trials     int             `json:"trials" jsonschema:"how often each invariant is asked in each scenario"`
	Seed       string          `json:"seed" jsonschema:"seed of all draws, a decimal string"`
	Parallel   bool            `json:"parallel" jsonschema:"cells have worlds of their own and run side by side"`
	Scenarios  []scenarioInfo  `json:"scenarios"`
	Invariants []invariantInfo `json:"invariants"`
	Verdict    string          `json:"verdict,omitempty" jsonschema:"that of the latest run; left out before the first" enum:"pass,fail,inconclusive"`
}

type scenarioInfo struct {
	Name  string     `json:"name"`
	Rules []ruleInfo `json:"rules" jsonschema:"the faults in force; none: a calm run"`
}

type ruleInfo struct {
	Name   string `json:"name,omitempty"`
	Target string `json:"target" jsonschema:"glob of the injection points it matches"`
	Fault  string `json:"fault" jsonschema:"kind of the fault"`
}

type invariantInfo struct {
	ID       string           `json:"id"`
	Severity scoring.Severity `json:"severity"`
	Applies  string           `json:"applies" jsonschema:"in which scenarios it is asked" enum:"Always,ToolFaults,LLMFaults,AnyFault,NoFault"`
}

func contractList() (*tool, error) {
	return define(tool{
		Name: "contract_list", Title: "List contracts", Area: "contract", Target: "matrix",
		Description: `Lists the contract matrices of the host: which invariants (what must stay true) are asked in which scenarios (faults at injection points), how many times, with which seed.
A cell is one invariant in one scenario, once; each cell is an independent run of the agent. Use the names here to narrow contract_run.`,
	}, func(_ context.Context, c *call, in listInput) (listOutput, error) {
		s := c.Server
		matrices := s.host.Matrices
		if in.Matrix != "" {
			m, err := s.matrix(in.Matrix)
			if err != nil {
				return listOutput{}, err
			}
			matrices = []*contract.Matrix{m}
		}
		out := listOutput{Matrices: []matrixInfo{}}
		cells := 0
		for _, m := range matrices {
			info := s.describe(m)
			cells += info.Cells
			out.Matrices = append(out.Matrices, info)
		}
		out.Summary = fmt.Sprintf("%d %s, %d cells in all.", len(matrices), text.Noun(len(matrices), "matrix", "matrices"), cells)
		return out, nil
	})
}

func (s *Server) describe(m *contract.Matrix) matrixInfo {
	info := matrixInfo{Name: m.Name, Cells: len(m.Cells()), Trials: max(m.Trials, 1), Seed: fmt.Sprint(m.Seed), Parallel: m.NewWorld != nil,
		Scenarios: []scenarioInfo{}, Invariants: []invariantInfo{}}
	for _, sc := range m.Scenarios {
		one := scenarioInfo{Name: sc.Name, Rules: []ruleInfo{}}
		for _, r := range sc.Rules {
			one.Rules = append(one.Rules, ruleInfo{r.Name, r.Target, remote.KindOf(r.Fault)})
		}
		info.Scenarios = append(info.Scenarios, one)
	}
	for _, inv := range m.Invariants {
		info.Invariants = append(info.Invariants, invariantInfo{inv.Name, inv.Severity, inv.Applies.String()})
	}
	if _, k, ok := s.reports.get(m.Name, false); ok {
		info.Verdict = textOf(k.Score.Verdict)
	}
	return info
}

func textOf(v scoring.Verdict) string {
	text, err := v.MarshalText()
	if err != nil {
		return "inconclusive"
	}
	return string(text)
}

type runInput struct {
	Matrix     string   `json:"matrix,omitempty" jsonschema:"name of the matrix; required where the host has several" len:"1,256"`
	Scenarios  []string `json:"scenarios,omitempty" jsonschema:"run these scenarios only" len:"1,200" each:"1,256"`
	Invariants []string `json:"invariants,omitempty" jsonschema:"ask these invariants only" len:"1,200" each:"1,256"`
	Trial      int      `json:"trial,omitempty" jsonschema:"run this trial only, from 1: what repeats a single cell" range:"1,1000000"`
	Trials     int      `json:"trials,omitempty" jsonschema:"how often each invariant is asked in each scenario; the matrix's own number if left out" range:"1,1000"`
	Seed       string   `json:"seed,omitempty" jsonschema:"seed of all draws, a decimal string; the matrix's own if left out" len:"1,20"`
}

func contractRun() (*tool, error) {
	return define(tool{
		Name: "contract_run", Title: "Run a contract", Area: "contract", Target: "matrix",
		Description: `Runs a contract matrix: each invariant in each scenario, every cell an independent run of the agent with the scenario's faults. It does not touch the live injector.
The verdict is pass, fail or inconclusive: one broken critical invariant is a fail whatever the score; too little evidence is inconclusive, never a pass. The score is 0 to 100, severities weighted 3, 2, 1, 1. Cells whose faults never struck are undelivered and in no score.
A whole matrix may take minutes and an agent's calls may cost money: narrow by scenarios and invariants. Progress is sent for every cell if the call has a progress token, and cancelling ends the run. One matrix runs once at a time. contract_report shows cells of the latest run.`,
		Kind: toolrow.Kind{Write: true, OpenWorld: true},
	}, func(ctx context.Context, c *call, in runInput) (report.Digest, error) {
		m, err := c.Server.matrix(in.Matrix)
		if err != nil {
			return report.Digest{}, err
		}
		own, chosen, err := in.choose(m)
		if err != nil {
			return report.Digest{}, err
		}
		free, err := c.Server.single.Take(fmt.Sprintf("matrix %q", m.Name))
		if err != nil {
			return report.Digest{}, err
		}
		defer free()
		return c.Server.runMatrix(ctx, c.Req, own, chosen)
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
		return nil, nil, failure.BadArguments(fmt.Sprintf("trial is %d; allowed: 1 to %d", in.Trial, max(own.Trials, 1)), "Pass trials as well to have more of them.")
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
		return nil, nil, failure.BadArguments(err.Error(), "contract_list lists scenarios and invariants.")
	}
	chosen := func(c contract.Cell) bool {
		return (len(in.Scenarios) == 0 || slices.Contains(in.Scenarios, c.Scenario)) &&
			(len(in.Invariants) == 0 || slices.Contains(in.Invariants, c.Invariant)) && (in.Trial == 0 || in.Trial == c.Trial)
	}
	if !slices.ContainsFunc(own.Cells(), chosen) {
		return nil, nil, failure.BadArguments("no cell of the matrix is left by these filters: the invariants do not apply in the scenarios", "contract_list says where each invariant applies.")
	}
	return &own, chosen, nil
}

// known returns an error for the names that do not exist.
func known(field string, asked, names []string) error {
	var problems []error
	for i, name := range asked {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("%s[%d] is %q; allowed: %s%s", field, i, text.Clip(name, failure.MaxShown), toolschema.OrNone(names), toolschema.Meant(name, names)))
		}
	}
	return errors.Join(problems...)
}

func (s *Server) runMatrix(ctx context.Context, req *mcp.CallToolRequest, m *contract.Matrix, chosen func(contract.Cell) bool) (report.Digest, error) {
	total := 0
	for _, cell := range m.Cells() {
		if chosen(cell) {
			total++
		}
	}
	progress := session.NewProgress(ctx, req, total)
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
				progress.Report(done, fmt.Sprintf("%s: %v", r.Cell, r.State))
			}
		},
	})
	progress.End()
	if err != nil {
		return report.Digest{}, err
	}
	k := kept{r, time.Now().UTC(), time.Since(began)}
	s.reports.put(m.Name, k)
	return digestOf(k), nil
}

// rerunLine is the call of contract_run that repeats a cell: same seed, same scenario.
func rerunLine(m *contract.Matrix, cell contract.Cell) string {
	in := runInput{Matrix: m.Name, Scenarios: []string{cell.Scenario}, Invariants: []string{cell.Invariant},
		Trial: cell.Trial, Trials: max(m.Trials, 1), Seed: fmt.Sprint(m.Seed)}
	text, _ := json.Marshal(in) // of texts and numbers
	return "contract_run " + string(text)
}

// digestOf sums up a report, and says where the rest of it is.
func digestOf(k kept) report.Digest {
	d := report.DigestOf(k.Report, k.took)
	if d.Omitted > 0 {
		d.Summary = text.Sentences(d.Summary, "contract_report shows the others.")
	}
	return d
}
