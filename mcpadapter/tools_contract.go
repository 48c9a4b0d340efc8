package mcpadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

type listInput struct {
	Matrix string `json:"matrix,omitempty" jsonschema:"name of one matrix; all if left out" len:"1,256"`
}

type listOutput struct {
	Summary  string       `json:"summary"`
	Matrices []matrixInfo `json:"matrices"`
}

type matrixInfo struct {
	contract.Outline
	Verdict string `json:"verdict,omitempty" jsonschema:"that of the latest run; left out before the first" enum:"pass,fail,inconclusive"`
	Latest  string `json:"latest,omitempty" jsonschema:"summary of the latest run: why it has this verdict, and what is open"`
}

func contractList() (*tool, error) {
	return define(tool{
		Name: "contract_list", Title: "List contracts", Area: "contract", Target: "matrix",
		Description: `Lists the contract matrices of the host, and those of its suite (contract, mutation, replay): which invariants (what must stay true) are asked in which scenarios (faults at injection points), how many times, with which seed.
A cell is one invariant in one scenario, once; each cell is an independent run of the agent. Use the names here to narrow contract_run.`,
	}, func(_ context.Context, c *call, in listInput) (listOutput, error) {
		s := c.Server
		list := s.reports.matrices
		if in.Matrix != "" {
			m, err := s.reports.matrix(in.Matrix)
			if err != nil {
				return listOutput{}, err
			}
			list = []namedMatrix{m}
		}
		out := listOutput{Matrices: []matrixInfo{}}
		cells := 0
		for _, m := range list {
			info := matrixInfo{Outline: m.Outline()}
			info.Name = m.name
			if k, ok := s.reports.latestOf(m.name); ok {
				verdict, _ := k.Score.Verdict.MarshalText() // one that a report has
				info.Verdict, info.Latest = string(verdict), digestOf(k).Summary
			}
			cells += info.Cells
			out.Matrices = append(out.Matrices, info)
		}
		out.Summary = fmt.Sprintf("%d %s, %d cells in all.", len(list),
			text.Noun(len(list), "matrix", "matrices"), cells)
		return out, nil
	})
}

type runInput struct {
	Matrix     string   `json:"matrix,omitempty" jsonschema:"name of the matrix; required where the host has several" len:"1,256"`
	Scenarios  []string `json:"scenarios,omitempty" jsonschema:"run these scenarios only" len:"1,200" each:"1,256"`
	Invariants []string `json:"invariants,omitempty" jsonschema:"ask these invariants only" len:"1,200" each:"1,256"`
	Trial      int      `json:"trial,omitempty" jsonschema:"run this trial only, from 1: what repeats a single cell" range:"1,1000000"`
	Trials     int      `json:"trials,omitempty" jsonschema:"how often each invariant is asked in each scenario; the matrix's own number if left out" range:"1,1000000"`
	Seed       string   `json:"seed,omitempty" jsonschema:"seed of all draws, a decimal string; the matrix's own if left out" len:"1,20"`
}

func contractRun() (*tool, error) {
	return define(tool{
		Name: "contract_run", Title: "Run a contract", Area: "contract", Target: "matrix",
		Description: `Runs a contract matrix: each invariant in each scenario, every cell an independent run of the agent with the scenario's faults. It does not touch the live injector.
The verdict is pass, fail or inconclusive: one broken critical invariant is a fail whatever the score; too little evidence is inconclusive, never a pass; so is an open promised rate, and a goal that no run reached. A promised rate is broken when it is rejected, not by one trial. The score is 0 to 100, severities weighted 3, 2, 1, 1. Cells whose faults were never delivered are undelivered and in no score.
A whole matrix may take minutes and an agent's calls may cost money: narrow by scenarios and invariants. Progress is sent for every cell if the call has a progress token, and cancelling ends the run. One matrix runs once at a time. contract_report shows cells of the latest run, and explain finds the fewest faults behind its broken cells.`,
		Kind: kind{Write: true, OpenWorld: true},
	}, func(ctx context.Context, c *call, in runInput) (report.Digest, error) {
		m, err := c.Server.reports.matrix(in.Matrix)
		if err != nil {
			return report.Digest{}, err
		}
		own, chosen, err := in.choose(m.Matrix)
		if err != nil {
			return report.Digest{}, err
		}
		free, err := c.Server.runsAlone(fmt.Sprintf("matrix %q", m.name))
		if err != nil {
			return report.Digest{}, err
		}
		defer free()
		return c.Server.runMatrix(ctx, c.Req, namedMatrix{m.name, own}, chosen)
	})
}

// choose returns the matrix with the trials and seed asked for, and which cells
// to run.
func (in runInput) choose(m *contract.Matrix) (*contract.Matrix, func(contract.Cell) bool, error) {
	s := contract.Selection{Scenarios: in.Scenarios, Invariants: in.Invariants, Trial: in.Trial, Trials: in.Trials}
	if in.Seed != "" {
		seed, err := toolschema.Seed("seed", in.Seed)
		if err != nil {
			return nil, nil, err
		}
		s.Seed = &seed
	}
	own, chosen, err := s.Of(m)
	if err != nil {
		return nil, nil, unknownNames(err)
	}
	return own, chosen, nil
}

func unknownNames(err error) error {
	hint := "contract_list lists scenarios and invariants."
	if errors.Is(err, contract.ErrNothingSelected) {
		hint = "contract_list says where each invariant applies."
	}
	return badArguments(strings.NewReplacer("contract: ", "", "report: ", "").Replace(err.Error()), hint)
}

func (s *Server) runMatrix(ctx context.Context, req *mcp.CallToolRequest, m namedMatrix,
	chosen func(contract.Cell) bool) (report.Digest, error) {
	total := 0
	for _, cell := range m.Cells() {
		if chosen(cell) {
			total++
		}
	}
	progress, end := newProgress(ctx, req, total)
	began := time.Now()
	done := 0
	r, err := m.Run(ctx, &contract.RunOptions{
		Harness: contract.Harness{
			Around: func(cell contract.Cell, run func(contract.Bubble) *contract.CellReport) {
				if chosen(cell) {
					run(nil)
				}
			},
			Rerun: rerunLine(m),
		},
		OnCell: func(r *contract.CellReport) {
			if chosen(r.Cell) {
				done++
				progress(done, fmt.Sprintf("%s: %v", r.Cell, r.State))
			}
		},
	})
	end()
	if err != nil {
		return report.Digest{}, err
	}
	k := keptReport{Report: r, of: m, at: time.Now().UTC(), took: time.Since(began)}
	s.reports.put(k)
	return digestOf(k), nil
}

type explainInput struct {
	Matrix string `json:"matrix,omitempty" jsonschema:"name of the matrix; the one that was run last if left out" len:"1,256"`
	Runs   int    `json:"runs,omitempty" jsonschema:"make at most so many further runs of the agent" range:"1,100000" default:"500"`
}

type explainOutput struct {
	Summary        string            `json:"summary" jsonschema:"the verdict of the report, its reason and its defects"`
	Matrix         string            `json:"matrix"`
	Defects        []contract.Defect `json:"defects,omitzero" jsonschema:"the ways to break behind the broken cells, the most severe first, at most 5, with at most 10 elements in each of their lists; none where no cell is broken"`
	DefectsOmitted int               `json:"defectsOmitted,omitempty"`
	PartsOmitted   int               `json:"partsOmitted,omitempty" jsonschema:"elements of the lists of these defects that this answer leaves out"`
	SearchRuns     int               `json:"searchRuns" jsonschema:"runs of the agent that the search made"`
	SearchStopped  string            `json:"searchStopped,omitempty" jsonschema:"why the search ended early"`
}

// explainRuns bounds the runs of a search if the arguments do not.
const explainRuns = 500

func explain() (*tool, error) {
	return define(tool{
		Name: "explain", Title: "Explain broken cells", Area: "contract", Target: "matrix",
		Description: `Finds the defects behind the broken cells of the latest contract_run of a matrix: the fewest and mildest faults that break it, in a sentence, with facts that were seen in runs. It runs the agent again, at most runs times, under fewer faults than the broken cells had; it changes neither a cell nor the verdict.
contract_report and the resource of the report have the defects too. Progress is sent if the call has a progress token, and cancelling ends the search; what was found by then is kept.`,
		Kind: kind{Write: true, OpenWorld: true},
	}, func(ctx context.Context, c *call, in explainInput) (out explainOutput, err error) {
		s := c.Server
		k, err := s.reports.report(in.Matrix)
		if err != nil {
			return out, err
		}
		free, err := s.runsAlone(fmt.Sprintf("matrix %q", k.of.name))
		if err != nil {
			return out, err
		}
		defer free()
		found := *k.Report
		budget := cmp.Or(in.Runs, explainRuns)
		progress, end := newProgress(ctx, c.Req, budget)
		err = search.Explain(ctx, k.of.Matrix, &found, &search.Options{
			Run:    contract.RunOptions{Harness: contract.Harness{Rerun: rerunLine(k.of)}},
			Budget: search.Budget{Runs: budget},
			OnProgress: func(p search.Progress) {
				progress(p.Runs, fmt.Sprintf("%d groups of broken cells are open", p.Open))
			},
		})
		end()
		if err != nil {
			return out, err
		}
		k.Report = &found
		s.reports.put(k)
		d := digestOf(k)
		return explainOutput{d.Summary, d.Matrix, d.Defects, d.DefectsOmitted, d.PartsOmitted, found.SearchRuns,
			d.SearchStopped}, nil
	})
}

// rerunLine is the call of contract_run that repeats a cell: same seed, same scenario.
func rerunLine(m namedMatrix) string {
	in := runInput{Matrix: m.name, Scenarios: []string{"{scenario}"}, Invariants: []string{"{invariant}"},
		Trial: 1, Trials: max(m.Trials, 1), Seed: fmt.Sprint(m.Seed)}
	text, _ := json.Marshal(in) // of texts and numbers
	return "contract_run " + strings.Replace(string(text), `"trial":1,`, `"trial":{trial},`, 1)
}

// digestOf sums up a report, and says where the rest of it is.
func digestOf(k keptReport) report.Digest {
	d := report.DigestOf(k.Report, k.took)
	d.Matrix = k.of.name
	if d.Omitted > 0 {
		d.Summary = text.Sentences(d.Summary, "contract_report shows the others.")
	}
	return d
}
