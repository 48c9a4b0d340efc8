package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Host is what a program exposes. A part that is nil has no tools; at least
// one part is required.
type Host struct {
	_ struct{}
	// Name is what clients see as the server's name. Required.
	Name string
	// Injector is the injector of the live program. Clients register and remove its
	// faults, and subscribe to those that are delivered, which are audited too.
	Injector *chaos.Injector
	// Plans are what plans of clients may name in addition to the ready-made kinds
	// and those of package mcpchaos, such as faults of the host's own. nil: nothing.
	Plans *planjson.Options
	// Experiments are the experiments that may be run by name.
	Experiments *gameday.Lab
	// Matrices are the contracts that may be run. If there are several, each needs
	// a name of its own.
	Matrices []*contract.Matrix
	// Suite is a suite whose matrices may be run by the names contract, mutation and
	// replay. SuiteWorld makes their worlds, as for [suite.Suite.Matrices]; nil: the agent of
	// the file does.
	Suite      *suite.Suite
	SuiteWorld func(context.Context) (*contract.World, error)
	// Runs are the recorded runs whose timelines clients may query.
	Runs *trace.Runs
	// Workload lets clients run the workload that Runs was made with. It runs apart
	// from the live injector.
	Workload bool
}

func (h Host) check() error {
	problems := fields.List()
	because := func(err error, field, allowed string) {
		if err != nil {
			problems.Because(field, nil, err, allowed)
		}
	}
	problems.Demand(h.Name != "", "Host.Name", nil, "a name")
	problems.Demand(h.Injector != nil || h.Experiments != nil || len(h.Matrices) > 0 || h.Suite != nil || h.Runs != nil,
		"Host.Injector", nil, "an Injector, Experiments, Matrices, a Suite or Runs; one of them at least")
	problems.Demand(!h.Workload || h.Runs != nil, "Host.Runs", nil,
		"where Workload is true, those made by trace.NewRuns with a Workload")
	if h.Plans != nil {
		_, err := planjson.Kinds(planOptions(h.Plans))
		because(err, "Host.Plans", "rows whose examples can be read, and faults and triggers that describe themselves")
	}
	seen := make(map[string]bool)
	if h.Suite != nil {
		for name := range h.Suite.Matrices(h.SuiteWorld) {
			seen[name] = true
		}
	}
	several := len(h.Matrices)+len(seen) > 1
	for i, m := range h.Matrices {
		field := fmt.Sprintf("Host.Matrices[%d]", i)
		if m == nil {
			problems.Wrong(field, nil, "a matrix")
			continue
		}
		problems.Demand(m.Name != "" || !several, field+".Name", nil, "a name, where there are several matrices")
		problems.Demand(m.Name == "" || !seen[m.Name], field+".Name", m.Name, "a name that no other matrix has")
		seen[m.Name] = true
		because(m.Validate(), field, "a matrix without problems")
	}
	return problems.Err()
}

// A FieldError is one problem of a [Host] or of [Options], such as
// "Limits.CallTime". [NewServer] joins all it finds; Package
// is "mcpadapter", or "policy" for a problem of Options.Policy.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("mcpadapter")
