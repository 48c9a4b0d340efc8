package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/remote"
	"github.com/shakedown-go/shakedown/contract"
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
		name: "contract_list", title: "List contracts", area: "contract", target: "matrix",
		description: `Lists the contract matrices of the host: which invariants (what must stay true) are asked in which scenarios (faults at injection points), how many times, with which seed.
A cell is one invariant in one scenario, once; each cell is an independent run of the agent. Use the names here to narrow contract_run.`,
	}, func(_ context.Context, c *call, in listInput) (listOutput, error) {
		s := c.server
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
		out.Summary = fmt.Sprintf("%d %s, %d cells in all.", len(matrices), plural(len(matrices), "matrix", "matrices"), cells)
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
