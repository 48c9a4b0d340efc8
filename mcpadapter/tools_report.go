package mcpadapter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
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
	report.Digest
	FinishedAt time.Time             `json:"finishedAt" jsonschema:"when the run ended, UTC"`
	Faults     []contract.FaultCount `json:"faults" jsonschema:"what became of each rule, at most 50: delivered and undelivered count calls, cells the runs of the agent"`
	Cells      []report.CellDigest   `json:"cells,omitzero" jsonschema:"only if asked for"`
	Matching   *int                  `json:"matching,omitempty" jsonschema:"number of cells that match the filters"`
	NextOffset *int                  `json:"nextOffset,omitempty" jsonschema:"offset of the next page; left out on the last one"`
}

// Bounds of a report.
const (
	defaultPage = 20
	maxFaults   = 50
)

func contractReport() (*tool, error) {
	return define(tool{
		Name: "contract_report", Title: "Contract report", Area: "contract", Target: "matrix",
		Description: `Shows the latest report of a contract matrix since the server was started: summary, verdict, score and broken cells first; single cells a page at a time with cells true.
States are held, broken, inconclusive, undelivered (no fault of the scenario was delivered) and not run. Each cell has the contract_run call that repeats it. Times are UTC, elapsedSec in seconds. Narrow by states, scenario and invariant, and ask for evidence of few cells: prompts and answers are long.`,
	}, func(_ context.Context, c *call, in reportInput) (reportOutput, error) {
		k, err := c.Server.reports.report(in.Matrix)
		if err != nil {
			return reportOutput{}, err
		}
		filter := report.CellFilter{States: in.States, Scenario: in.Scenario, Invariant: in.Invariant}
		if err := filter.Check(k.Report); err != nil {
			return reportOutput{}, unknownNames(err)
		}
		out := reportOutput{Digest: digestOf(k), FinishedAt: k.at}
		out.Faults, _ = clip(k.Faults, maxFaults)
		if in.Cells {
			out.page(in, filter, k.Report)
		}
		return out, nil
	})
}

// page adds the requested cells, and says where the next page begins.
func (out *reportOutput) page(in reportInput, filter report.CellFilter, r *contract.Report) {
	out.Cells = []report.CellDigest{}
	cells, matching := filter.Page(r, in.Offset, cmp.Or(in.Limit, defaultPage))
	for _, c := range cells {
		out.Cells = append(out.Cells, report.CellDigestOf(c, in.Evidence))
	}
	out.Matching = &matching
	if shown := in.Offset + len(out.Cells); shown < matching {
		out.NextOffset = &shown
	}
	out.Summary = text.Sentences(out.Summary,
		fmt.Sprintf("Cells %d to %d of %d matching ones.", min(in.Offset+1, matching),
			min(in.Offset+len(out.Cells), matching), matching))
}

type scoreInput struct {
	Matrix      string           `json:"matrix,omitempty" jsonschema:"matrix whose latest report is the contract part; the one that was run last if left out" len:"1,256"`
	Mutation    *float64         `json:"mutation,omitempty" jsonschema:"score of a mutation run made elsewhere: told, not measured" range:"0,100"`
	Replay      *float64         `json:"replay,omitempty" jsonschema:"score of a replay run made elsewhere: told, not measured" range:"0,100"`
	Weights     *scoring.Weights `json:"weights,omitempty" jsonschema:"weights of the parts, summing to 1; 0.20, 0.35, 0.35, 0.10 if left out"`
	Renormalise bool             `json:"renormalise,omitempty" jsonschema:"score only the parts that ran, their weights scaled up; without it a missing part is an error" default:"false"`
}

type scoreOutput struct {
	Summary      string              `json:"summary"`
	Value        float64             `json:"value" jsonschema:"overall score" range:"0,100"`
	Verdict      scoring.Verdict     `json:"verdict" jsonschema:"fail if the contract failed; inconclusive if a part was told and not measured, or if the contract was inconclusive, unless renormalise was chosen; else pass"`
	Why          string              `json:"why" jsonschema:"the reason for the verdict"`
	Ran          []partOut           `json:"ran" jsonschema:"parts that count, with the weights used"`
	Missing      []string            `json:"missing" jsonschema:"parts that did not run"`
	Renormalised bool                `json:"renormalised" jsonschema:"the weights in ran are not those asked for, so the value does not compare with a full one"`
	Contract     *report.ScoreDigest `json:"contract,omitempty" jsonschema:"the contract score behind the contract part"`
}

type partOut struct {
	scoring.PartScore
	Told bool `json:"told,omitempty" jsonschema:"the number was passed in by this call; nothing here has measured it"`
}

func resilienceScore() (*tool, error) {
	return define(tool{
		Name: "resilience_score", Title: "Resilience score", Area: "contract", Target: "matrix",
		Description: `Joins what is known into one score from 0 to 100: the sum of weight x part over mutation, chaos, contract and replay.
contract is the score of the latest report (severities weighted 3, 2, 1, 1, over decided cells), chaos 100 times the share of kept experiment runs that succeeded; mutation and replay are those of the suite's matrices, where the host has them and they were run. A mutation or replay that is passed in was told and not measured: it is marked so, and the verdict is then inconclusive at best. A part that did not run is an error unless renormalise is true. The verdict stands beside the number: a contract that failed fails it, whatever the number.`,
	}, func(_ context.Context, c *call, in scoreInput) (scoreOutput, error) {
		return c.Server.score(in)
	})
}

func (s *Server) score(in scoreInput) (scoreOutput, error) {
	var parts scoring.Parts
	var out scoreOutput
	if s.host.Suite != nil {
		in.Matrix = cmp.Or(in.Matrix, "contract")
	}
	k, err := s.reports.report(in.Matrix)
	switch {
	case err != nil && problemOf(err).Code != codeNothing:
		return out, err
	case err == nil:
		out.Contract = new(report.ScoreDigestOf(k.Score))
		parts.Contract, parts.ContractVerdict = out.Contract.Value, k.Score.Verdict
	}
	if s.host.Experiments != nil {
		parts.Chaos = s.host.Experiments.History().Score()
	}
	measured, err := s.measureSuite(&parts)
	if err != nil {
		return out, err
	}
	told, err := in.tell(&parts)
	if err != nil {
		return out, err
	}
	weights := cmp.Or(in.Weights, new(scoring.DefaultWeights()))
	overall, err := weights.Overall(parts, &scoring.OverallOptions{Renormalise: in.Renormalise})
	if err != nil {
		inWords := strings.NewReplacer("scoring: ", "", "set OverallOptions.Renormalise to go without", "renormalise true")
		return out, badArguments(inWords.Replace(err.Error()),
			"Run what is missing (contract_run, chaos_run_experiment), pass mutation and replay, or set renormalise to true.")
	}
	out.Value, out.Missing, out.Renormalised = overall.Value, overall.Missing, overall.Renormalised
	out.Verdict, out.Why = overall.Verdict, overall.Why
	out.judge(overall.Ran, told, measured, in.Renormalise)
	out.Summary = fmt.Sprintf("%v: %s. %.2f of 100 over %d of 4 parts.", out.Verdict, out.Why, out.Value, len(out.Ran))
	if out.Contract != nil {
		out.Summary = text.Sentences(out.Summary, "Contract verdict: "+digestOf(k).Summary)
	}
	return out, nil
}

// tell adds the parts that the call passes in, and returns their names.
func (in scoreInput) tell(parts *scoring.Parts) (told []string, err error) {
	for _, part := range []struct {
		name     string
		given    *float64
		measured **float64
	}{{"mutation", in.Mutation, &parts.Mutation}, {"replay", in.Replay, &parts.Replay}} {
		switch {
		case part.given == nil:
		case *part.measured != nil:
			return nil, badArguments(fmt.Sprintf("%s is %v; allowed: nothing, since this server has measured %.2f",
				part.name, *part.given, **part.measured), "Leave it out.")
		default:
			*part.measured, told = part.given, append(told, part.name)
		}
	}
	return told, nil
}

// judge lists the parts, and holds back a pass that rests on what nobody measured, or that a
// matrix of the suite contradicts.
func (out *scoreOutput) judge(ran []scoring.PartScore, told []string, measured map[string]*contract.Report,
	renormalise bool) {
	for _, part := range ran {
		out.Ran = append(out.Ran, partOut{part, slices.Contains(told, part.Name)})
	}
	if len(told) > 0 && out.Verdict == scoring.Pass {
		out.Verdict, out.Why = scoring.Inconclusive, strings.Join(told, " and ")+" told and not measured"
	}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		score := measured[name].Score
		if score.Verdict == scoring.Fail && out.Verdict != scoring.Fail ||
			score.Verdict == scoring.Inconclusive && out.Verdict == scoring.Pass && !renormalise {
			out.Verdict, out.Why = score.Verdict, name+": "+score.Why
		}
	}
}

// measureSuite adds the parts that only a suite measures, and returns the reports of its
// matrices that were run.
func (s *Server) measureSuite(parts *scoring.Parts) (map[string]*contract.Report, error) {
	reports := make(map[string]*contract.Report)
	if s.host.Suite == nil {
		return reports, nil
	}
	for _, m := range s.reports.matrices[len(s.host.Matrices):] {
		if k, ok := s.reports.latestOf(m.name); ok {
			reports[m.name] = k.Report
		}
	}
	r, err := s.host.Suite.Score(reports, &scoring.OverallOptions{Renormalise: true})
	if r == nil {
		return nil, err
	}
	parts.Mutation, parts.Replay = r.Mutation.Part(), r.Replay.Part()
	return reports, nil
}
