package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Result is the score of a suite: the parts, and what joins them. A part is nil if the
// file does not have it, or its matrix has no report.
type Result struct {
	Overall  scoring.Overall        `json:"overall"`
	Weights  scoring.Weights        `json:"weights"` // that were used; 0 for a part that the file does not have
	Mutation *scoring.MutationScore `json:"mutation,omitempty"`
	Chaos    *scoring.ChaosScore    `json:"chaos,omitempty"`
	Contract *scoring.ContractScore `json:"contract,omitempty"`
	Replay   *scoring.ReplayScore   `json:"replay,omitempty"`
	// Verdict is the worst of all: Fail if that of a matrix is Fail, else Inconclusive if
	// that of a matrix or of Overall is, or a matrix has no report. Why says which.
	Verdict scoring.Verdict `json:"verdict"`
	Why     string          `json:"why"`
}

// Score joins the reports of the matrices that [Suite.Matrices] yields, by their names.
//
// The parts are the robustness of the mutation matrix ([mutate.Set.Score]), the chaos
// score and the contract score of the contract matrix, and the share of the cells of
// sessions that held ([contract.Report.ReplayOf]). Weights are those of the file, else [scoring.DefaultWeights].
//
// Each report must be of the matrix with its name: with the same name, prompts, scenarios
// and invariants, by the fingerprint that a run leaves in it. Trials, seed and probes may be
// others. For reports of other matrices Score returns no result, and a
// [*scoring.FieldError] each, joined.
//
// A part that the file does not have is left out, and the weights of the others are scaled
// to sum to 1: [scoring.Overall] says so. A part that it has, and that has no report or no
// decided cell, is an error unless o allows it. With an error the parts and the verdict of
// the result are set all the same.
func (s *Suite) Score(reports map[string]*contract.Report, o *scoring.OverallOptions) (*Result, error) {
	own := maps.Collect(s.Matrices(noWorlds))
	list := fields.List()
	checkReports(list, own, reports)
	if err := list.Err(); err != nil {
		return nil, err
	}
	r := &Result{}
	var parts scoring.Parts
	if rep := reports[contractMatrix]; rep != nil {
		r.Contract, r.Chaos = &rep.Score, rep.Chaos
		parts.ContractVerdict = rep.Score.Verdict
		parts.Contract, parts.Chaos = r.Contract.Part(), r.Chaos.Part()
	}
	if rep := reports[mutationMatrix]; rep != nil && s.set != nil {
		if score, err := s.set.Score(rep); err == nil || score.Total > 0 {
			r.Mutation, parts.Mutation = &score, score.Part()
		} else {
			list.Add(err)
		}
	}
	if rep := reports[replayMatrix]; rep != nil && len(s.sessions) > 0 {
		score, err := rep.ReplayOf(own[replayMatrix].Scenarios)
		r.Replay, parts.Replay = &score, score.Part()
		if errors.As(err, new(*scoring.FieldError)) {
			list.Add(err)
		}
	}
	r.judge(own, reports)
	weights, scaled := s.used()
	r.Weights = weights
	overall, err := weights.Overall(parts, o)
	list.Add(fielderror.Apart(err)...)
	r.Overall = overall
	r.Overall.Renormalised = overall.Renormalised || scaled && err == nil
	if err == nil && r.Verdict == scoring.Pass && overall.Verdict != scoring.Pass {
		r.Verdict, r.Why = overall.Verdict, overall.Why
	}
	return r, list.Err()
}

// checkReports refuses reports of other matrices than the suite's own.
func checkReports(list *fielderror.List, own map[string]*contract.Matrix, reports map[string]*contract.Report) {
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		rep, m := reports[name], own[name]
		switch {
		case !slices.Contains(matrixNames(), name), m == nil && rep != nil:
			list.Wrong("reports", name, strings.Join(slices.Sorted(maps.Keys(own)), ", "))
		case rep != nil:
			if why := otherMatrix(m, rep); why != "" {
				list.Wrong(fmt.Sprintf("reports[%q]", name),
					fielderror.Found(fmt.Sprintf("of another matrix, %q: %s", text.Clip(rep.Name, maxShown), why)),
					fmt.Sprintf("a report of the matrix %q of this suite", m.Name))
			}
		}
	}
}

const maxShown = 80

// otherMatrix says how a report is of another matrix; "": it is of this one.
func otherMatrix(m *contract.Matrix, rep *contract.Report) string {
	want, err := m.Fingerprint()
	got := rep.Fingerprint
	switch {
	case rep.Name != m.Name:
		return "it has another name"
	case err != nil:
		return err.Error()
	case got == nil:
		return "it has no fingerprint"
	case !maps.Equal(got.Scenarios, want.Scenarios):
		return "its scenarios differ"
	case got.Prompts != want.Prompts || !maps.Equal(got.ScenarioPrompts, want.ScenarioPrompts):
		return "its prompts differ"
	case !maps.Equal(got.Invariants, want.Invariants):
		return "its invariants differ"
	}
	return ""
}

// used are the weights of the parts that the file has, scaled to sum to 1.
func (s *Suite) used() (w scoring.Weights, scaled bool) {
	w = s.weights
	if s.set == nil {
		w.Mutation = 0
	}
	if len(s.sessions) == 0 {
		w.Replay = 0
	}
	if !slices.ContainsFunc(s.scenarios, func(sc contract.Scenario) bool { return len(sc.Rules) > 0 }) {
		w.Chaos = 0
	}
	sum := w.Mutation + w.Chaos + w.Contract + w.Replay
	if w == s.weights || sum == 0 {
		return w, false
	}
	return scoring.Weights{Mutation: w.Mutation / sum, Chaos: w.Chaos / sum, Contract: w.Contract / sum,
		Replay: w.Replay / sum}, true
}

// useless reports whether the parts that the file has weigh nothing.
func (s *Suite) useless() bool {
	w, _ := s.used()
	return w == scoring.Weights{}
}

// judge gives the verdict of all matrices.
func (r *Result) judge(own map[string]*contract.Matrix, reports map[string]*contract.Report) {
	r.Verdict, r.Why = scoring.Pass, "all matrices passed"
	for _, name := range matrixNames() {
		if own[name] == nil {
			continue
		}
		rep := reports[name]
		verdict, why := scoring.Inconclusive, "it has no report"
		if rep != nil {
			verdict, why = rep.Score.Verdict, rep.Score.Why
		}
		if verdict == scoring.Fail && r.Verdict != scoring.Fail ||
			verdict == scoring.Inconclusive && r.Verdict == scoring.Pass {
			r.Verdict, r.Why = verdict, name+": "+why
		}
	}
}
