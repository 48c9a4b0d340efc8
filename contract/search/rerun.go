package search

import (
	"context"
	"os"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// Run runs a kept defect again, with the options of [contract.Matrix.Runner], which may be
// nil: by the exact coordinates of its calls, and if its faults do not reach them, by the
// numbers of the calls. The report is that of the run that decided. The status is ongoing
// or regressed if the invariant broke, for whatever reason, resolved if it held in all
// runs, and unreached if not all of the faults were delivered, or a run decided nothing. A
// defect without faults is also unreached if it held and the matrix lacks its scenario, and
// any defect whose scenario the matrix lacks if only scenarios have worlds: that is not run.
//
// Errors: a [*FieldError] if the matrix has no such invariant, and those of
// [contract.Matrix.Runner] and [contract.Runner.Run].
func (k *Kept) Run(ctx context.Context, m *contract.Matrix,
	o *contract.RunOptions) (Status, *contract.CellReport, error) {
	if err := k.check(m); err != nil {
		return "", nil, err
	}
	if m.NewWorld == nil && m.World == nil && !hasScenario(m, k.Scenario) { // as of a deleted session, or of a sweep
		cell := contract.Cell{Scenario: k.Scenario, Invariant: k.Invariant, Trial: k.Trial}
		return StatusUnreached, &contract.CellReport{Cell: cell}, nil
	}
	own := *m
	own.Seed = k.Seed
	runner, err := own.Runner(ctx, o)
	if err != nil {
		return "", nil, err
	}
	defer runner.Close()
	status, cell, err := k.attempt(ctx, runner, k.plan.Rules())
	gone := k.Scenario != sweepScenario && !hasScenario(m, k.Scenario)
	if status == StatusResolved && len(k.plan.Rules()) == 0 && gone {
		status = StatusUnreached // what was broken besides its rules is not known any more
	}
	if status == StatusUnreached && err == nil && len(k.Deliveries) > 0 {
		status, cell, err = k.attempt(ctx, runner, k.byNumber())
	}
	if status == StatusOngoing && (k.Status == StatusResolved || k.Status == StatusRegressed) {
		status = StatusRegressed
	}
	return status, cell, err
}

func hasScenario(m *contract.Matrix, name string) bool {
	return slices.ContainsFunc(m.Scenarios, func(s contract.Scenario) bool { return s.Name == name })
}

// attempt runs the rules until the invariant breaks, up to Runs times.
func (k *Kept) attempt(ctx context.Context, runner *contract.Runner,
	rules []chaos.Rule) (Status, *contract.CellReport, error) {
	var last *contract.CellReport
	for range k.Runs {
		cell := contract.Cell{Scenario: k.Scenario, Invariant: k.Invariant, Trial: k.Trial}
		result, err := runner.Run(ctx, cell, rules)
		if err != nil {
			return "", nil, err
		}
		i := slices.IndexFunc(result.Cells, func(c contract.CellReport) bool { return c.Cell.Invariant == k.Invariant })
		last = &result.Cells[i]
		switch {
		case last.Violated:
			return StatusOngoing, last, nil
		case last.State == contract.Inconclusive, !k.delivered(result.Observations):
			return StatusUnreached, last, nil
		}
	}
	return StatusResolved, last, nil
}

// delivered reports whether as many faults were delivered as the defect has, on calls to
// the same targets.
func (k *Kept) delivered(observations []*contract.Observation) bool {
	left := map[string]int{}
	for _, d := range k.Deliveries {
		left[d.Target]++
	}
	for _, o := range observations {
		for i := range o.Events {
			if e := &o.Events[i]; e.Delivered {
				left[e.Target] -= 1 + len(e.Also)
			}
		}
	}
	for _, n := range left {
		if n > 0 {
			return false
		}
	}
	return true
}

// byNumber are the rules with triggers that look at the numbers of the calls.
func (k *Kept) byNumber() []chaos.Rule {
	rules := k.plan.Rules()
	for i := range rules {
		theirs := slices.DeleteFunc(slices.Concat(k.Deliveries, k.Earlier),
			func(d contract.Delivery) bool { return d.Rule != rules[i].Name })
		if len(theirs) > 0 {
			rules[i].When = numbersOf(theirs)
		}
	}
	return rules
}

// SetStatus writes the status to the defect's file in the folder of [Options].Dir, unless
// it has it already. That of unreached faults is not written.
func (k *Kept) SetStatus(dir string, s Status) error {
	if s == k.Status || s == StatusUnreached {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	k.Status = s
	return k.save(root)
}
