package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

type scoreInput struct {
	Matrix      string       `json:"matrix,omitempty" jsonschema:"matrix whose latest report is the contract part; the one that was run last if left out" len:"1,256"`
	Mutation    *float64     `json:"mutation,omitempty" jsonschema:"score of a mutation run made elsewhere" range:"0,100"`
	Replay      *float64     `json:"replay,omitempty" jsonschema:"score of a replay run made elsewhere" range:"0,100"`
	Weights     *weightsInfo `json:"weights,omitempty" jsonschema:"weights of the parts, summing to 1; 0.20, 0.35, 0.35, 0.10 if left out"`
	Renormalise bool         `json:"renormalise,omitempty" jsonschema:"score only the parts that ran, their weights scaled up; without it a missing part is an error" default:"false"`
}

type weightsInfo struct {
	Mutation float64 `json:"mutation" range:"0,1"`
	Chaos    float64 `json:"chaos" range:"0,1"`
	Contract float64 `json:"contract" range:"0,1"`
	Replay   float64 `json:"replay" range:"0,1"`
}

type scoreOutput struct {
	Summary      string              `json:"summary"`
	Value        float64             `json:"value" jsonschema:"overall score" range:"0,100"`
	Verdict      scoring.Verdict     `json:"verdict" jsonschema:"fail if the contract failed; inconclusive if it was inconclusive, unless renormalise was chosen; else pass" enum:"inconclusive,pass,fail"`
	Why          string              `json:"why" jsonschema:"the reason for the verdict"`
	Ran          []scoring.PartScore `json:"ran" jsonschema:"parts that count, with the weights used"`
	Missing      []string            `json:"missing" jsonschema:"parts that did not run"`
	Renormalised bool                `json:"renormalised" jsonschema:"the weights in ran are not those asked for, so the value does not compare with a full one"`
	Contract     *report.ScoreDigest `json:"contract,omitempty" jsonschema:"the contract score behind the contract part"`
}

func resilienceScore() (*tool, error) {
	return define(tool{
		name: "resilience_score", title: "Resilience score", area: "contract", target: "matrix",
		description: `Joins what is known into one score from 0 to 100: the sum of weight x part over mutation, chaos, contract and replay.
contract is the score of the latest report (severities weighted 3, 2, 1, 1, over decided cells), chaos 100 times the share of kept experiment runs that succeeded; mutation and replay are run elsewhere and may be passed in. A part that did not run is an error unless renormalise is true. The verdict stands beside the number: a contract that failed fails it, whatever the number.`,
	}, func(_ context.Context, c *call, in scoreInput) (scoreOutput, error) {
		return c.server.score(in)
	})
}

func (s *Server) score(in scoreInput) (scoreOutput, error) {
	parts := scoring.Parts{Mutation: in.Mutation, Replay: in.Replay}
	var out scoreOutput
	_, k, err := s.report(in.Matrix)
	switch {
	case err != nil && problemOf(err).Code != codeNothing:
		return out, err
	case err == nil:
		out.Contract = new(report.ScoreDigestOf(k.Score))
		parts.Contract, parts.ContractVerdict = out.Contract.Value, k.Score.Verdict
	}
	if s.host.Experiments != nil {
		if runs, rate := s.host.Experiments.History().SuccessRate(""); runs > 0 {
			parts.Chaos = new(100 * rate)
		}
	}
	weights := scoring.DefaultWeights()
	if in.Weights != nil {
		weights = scoring.Weights(*in.Weights)
	}
	overall, err := weights.Overall(parts, &scoring.OverallOptions{Renormalise: in.Renormalise})
	if err != nil {
		return out, badArguments(err.Error(), "Run what is missing (contract_run, chaos_run_experiment), pass mutation and replay, or set renormalise to true.")
	}
	out.Value, out.Ran, out.Missing, out.Renormalised = overall.Value, overall.Ran, overall.Missing, overall.Renormalised
	out.Verdict, out.Why = overall.Verdict, overall.Why
	out.Summary = fmt.Sprintf("%v: %s. %.2f of 100 over %d of 4 parts.", out.Verdict, out.Why, out.Value, len(out.Ran))
	if out.Contract != nil {
		out.Summary = sentences(out.Summary, fmt.Sprintf("Contract verdict: %v.", out.Contract.Verdict))
	}
	return out, nil
}
