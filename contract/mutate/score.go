package mutate

import (
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// Score returns the robustness that a report shows: the share of mutations that broke
// nothing, weighted by kind, as [scoring.Mutations] computes it. It counts each scenario of
// the set and each trial once:
//
//   - broken, if a cell of it broke after a prompt was sent in other words;
//   - held, if such a cell was decided and none broke;
//   - otherwise inconclusive, undelivered or not run, which do not count. A scenario that the
//     report does not have was not run.
//
// Rules that the scenarios have may have broken a cell too; [contract.Report].Chaos is about
// those. Scenarios are known by their names, so a report of another set with the same kinds
// is scored as well.
//
// Errors: a [*FieldError] for a report that is nil, that did not keep its cells
// ([contract.KeepCounts]), or that is Sequential: the trials that it left out are those of
// what broke, and the others would count as held; [scoring.ErrNoneRan] and [scoring.ErrNoDecidedCell], with which
// the counts of the score are set.
func (s *Set) Score(r *contract.Report) (scoring.MutationScore, error) {
	switch {
	case r == nil:
		return scoring.MutationScore{}, fields.Wrong("report", nil, "a report")
	case r.Sequential:
		return scoring.MutationScore{}, fields.Wrong("report.Sequential", true, "false: a run of all trials")
	case len(r.Cells) == 0 && len(r.Counts) > 0:
		return scoring.MutationScore{}, fields.Wrong("report.Cells", fielderror.Found("empty"),
			"a report that kept its cells: a KeepPolicy other than KeepCounts")
	}
	trials := 1 // those that there are cells of: r.Trials may be anything
	for i := range r.Cells {
		trials = max(trials, min(r.Cells[i].Cell.Trial, len(r.Cells)))
	}
	index := make(map[string]int, len(s.mutations)) // the first of a scenario's trials
	list := make([]scoring.Mutation, 0, len(s.mutations)*trials)
	for _, m := range s.mutations {
		index[m.scenario()] = len(list)
		one := scoring.Mutation{Kind: m.kind.Name, Group: m.kind.Group, Intent: m.kind.Intent.String(),
			Weight: m.kind.Weight, Text: m.scenario()}
		for range trials {
			list = append(list, one)
		}
	}
	prompts := 0 // up to the one that broke a cell, so the most of all are those of the matrix
	for i := range r.Cells {
		c := &r.Cells[i]
		if at, ours := index[c.Cell.Scenario]; ours && c.Cell.Trial >= 1 && c.Cell.Trial <= trials {
			one := &list[at+c.Cell.Trial-1]
			one.State = worse(one.State, stateOf(c))
			prompts = max(prompts, c.Rewritten)
		}
	}
	return scoring.Mutations(list, prompts)
}

// stateOf is what a cell says about its mutation. One whose prompts were sent as they are
// says nothing, although rules may have delivered faults in it.
func stateOf(c *contract.CellReport) contract.CellState {
	if c.Rewritten == 0 && (c.State == contract.Held || c.State == contract.Broken) {
		return contract.Undelivered
	}
	return c.State
}

// worse joins the states of two cells of a mutation: one that broke decides, then one that
// held, then one that could have been decided.
func worse(a, b contract.CellState) contract.CellState {
	order := [...]contract.CellState{contract.Broken, contract.Held, contract.Inconclusive, contract.Undelivered}
	for _, state := range order {
		if a == state || b == state {
			return state
		}
	}
	return contract.NotRun
}
