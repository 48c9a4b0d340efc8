package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Repeat runs each prompt list of the matrix twice without faults and returns where the
// two runs first differ; nil: they were the same. It compares the calls, by lane, target,
// arguments and what the caller got, then the answers and the end states. Times
// play no part, and neither does the order of calls. An agent that repeats itself can be searched in few runs, and
// its failures can be repeated.
//
// The budget of o may be left out: two runs a prompt list are made. Errors are those of
// [Sweep].
func Repeat(ctx context.Context, m *contract.Matrix, o *Options) (*Difference, error) {
	own := *cmp.Or(o, &Options{})
	if !own.Budget.Set() {
		own.Budget.Runs = maxRepeats
	}
	checked, err := own.checked()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fields.Wrong("m", fielderror.Found("nil"), "a matrix")
	}
	run := checked.runOptions()
	run.Gather |= contract.NeedState | contract.NeedResults
	runner, err := m.Runner(ctx, run)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	runs := newLockstep(runner.Run, checked.bounds(),
		func(_ runRequest, r *contract.Result) []*contract.Observation {
			return r.Observations
		})
	lists := promptListsOf(m)
	differences := make([]*Difference, len(lists))
	tasks := make([]task[[]*contract.Observation], len(lists))
	for i, l := range lists {
		tasks[i] = func(ask askFunc[[]*contract.Observation]) {
			request := func(number int) runRequest {
				r := l.Request(nil, number)
				r.Cell.Scenario = calmRun
				return r
			}
			first, ok := ask(request(0))
			if !ok {
				return
			}
			if second, ok := ask(request(1)); ok {
				differences[i] = differenceOf(first, second, false)
			}
		}
	}
	if err := runs.Run(ctx, tasks...); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(differences, func(d *Difference) bool { return d != nil }); i >= 0 {
		return differences[i].redacted(checked), nil
	}
	if runs.Cut != "" {
		return nil, fmt.Errorf("search: Repeat was stopped before it was done: %s", runs.Cut)
	}
	return nil, nil
}

// calmRun is the scenario of the runs of Repeat: no name of one in a matrix.
const calmRun = "(calm)"

// maxRepeats is the budget of Repeat where there is none: more than prompt lists need.
const maxRepeats = 1_000_000
