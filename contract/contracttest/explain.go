package contracttest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const explainVariable = "SHAKEDOWN_EXPLAIN"

// What Run spends on explaining by itself, in virtual time.
const (
	explainRuns = 2000
	explainTime = 2 * time.Second
	cureRuns    = 3 // times as many to look for what mends the defects
)

// explainBudget is what a run may spend on explaining; not set: nothing. By itself a run
// explains only where nothing waits and no model is paid: in virtual time.
func explainBudget(o *Options, variable string, virtual bool) (search.Budget, error) {
	switch {
	case o.Explain != nil:
		return *o.Explain, nil
	case variable != "":
		d, err := time.ParseDuration(variable)
		if err != nil || d < 0 {
			return search.Budget{}, fielderror.Package("contracttest").Because(explainVariable, variable, err,
				`a duration such as "10s"; "0s": nothing is explained`)
		}
		return search.Budget{Time: d}, nil
	case virtual:
		return search.Budget{Runs: explainRuns, Time: explainTime}, nil
	}
	return search.Budget{}, nil
}

func (r *runner) explain(t *testing.T, m *contract.Matrix, result *contract.Report) {
	t.Helper()
	budget, err := explainBudget(r.o, os.Getenv(explainVariable), len(r.virtual) == len(m.Scenarios))
	if err != nil {
		t.Errorf("%v", err)
	}
	if !budget.Set() || result.Cancelled || t.Context().Err() != nil {
		return
	}
	o := &search.Options{Run: r.runOptions(t), Budget: budget, Cost: r.o.Cost, Spec: r.o.Spec, Dir: dirOf(t, r.o.Dir),
		Secrets: r.o.Secrets, Habits: r.o.Habits}
	err = search.Explain(t.Context(), m, result, o)
	if err == nil && r.o.Cure {
		o.Budget.Runs *= cureRuns
		err = search.Cure(t.Context(), m, result, o)
	}
	var field *search.FieldError
	switch {
	case errors.As(err, &field) && r.o.Explain != nil: // what the caller asked for is not possible
		t.Errorf("contracttest: the broken cells were not explained: %s", r.secrets.Text(err.Error()))
	case err != nil:
		t.Logf("contracttest: the broken cells were not explained: %s", r.secrets.Text(err.Error()))
	}
	noteDifference(result)
}

// noteDifference notes in a report that two runs under the same faults differed: calm runs may
// be the same all the same. That the invariant alone decided otherwise says nothing of the agent.
func noteDifference(r *contract.Report) {
	for _, d := range r.Defects {
		if r.Repeatable == "yes" && d.Difference != "" && !strings.HasPrefix(d.Difference, "the invariant: ") {
			r.Repeatable, r.Difference = "no", "under faults: "+d.Difference
		}
	}
}

func (r *runner) runOptions(t *testing.T) contract.RunOptions {
	return contract.RunOptions{Workers: r.o.Workers, Watchdog: r.o.Watchdog,
		Harness: contract.Harness{Calm: r.calmBubble(t), Deadline: deadline(t)}}
}
