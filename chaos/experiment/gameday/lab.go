// Package gameday keeps a registry of experiments, runs them by name, and keeps a
// history of the results.
//
//	history, err := gameday.OpenHistory("history.json", 0)
//	lab := gameday.NewLab(&gameday.LabOptions{History: history, Injector: in})
//	err = lab.Register(slowDatabase, lostCache, deadWorker)
//	for _, name := range lab.Names() {
//		result, err := lab.Run(ctx, name, false)
//		…
//	}
//
// A [Lab] runs experiments as experiment.RunSimple does and is safe for concurrent
// use; the caller decides whether two experiments may run at once. [Lab.Status] is
// the output of the tool chaos_status.
//
// # History
//
// A [History] is append-only and bounded: the oldest results are dropped and counted. Its file is whole or as
// it was, whenever the process dies; each change writes it anew. One process at a time may have it open. It also
// records which runs began: if the process dies during one, its rollback has not run, and after the next start
// [History.CutOff] names the run.
//
// Stability: may change.
package gameday

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/remote"
)

// ErrUnknown is matched by the error of running an experiment that is not registered.
var ErrUnknown = errors.New("gameday: unknown experiment")

// LabOptions are the settings of a [Lab]. The zero value, and nil, give the
// defaults.
type LabOptions struct {
	_ struct{}
	// History keeps the results. nil: a new one in memory.
	History *History
	// Injector is the injector whose rules [Lab.Status] lists. nil: none.
	Injector *chaos.Injector
	// Options are the options of every run.
	Options *experiment.Options
}

// A Lab holds registered experiments and the history of their runs. It is safe
// for concurrent use.
type Lab struct {
	opts LabOptions
	mu   sync.Mutex
	exps map[string]*experiment.Experiment
}

// NewLab makes a lab without experiments. o may be nil.
func NewLab(o *LabOptions) *Lab {
	l := &Lab{opts: *cmp.Or(o, &LabOptions{}), exps: make(map[string]*experiment.Experiment)}
	if l.opts.History == nil {
		l.opts.History = NewHistory(0)
	}
	return l
}

// Register adds experiments under their names, and replaces those registered under
// the same names. It adds all or none: the error joins the problems of all. Each
// experiment needs a hypothesis.
func (l *Lab) Register(experiments ...*experiment.Experiment) error {
	var problems []error
	for i, e := range experiments {
		if e == nil {
			problems = append(problems, fmt.Errorf("gameday: experiment %d is nil; allowed: an experiment", i))
		} else if err := e.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("gameday: experiment %q: %w", e.Name, err))
		} else if e.Hypothesis == nil {
			problems = append(problems, fmt.Errorf("gameday: experiment %q has no hypothesis; allowed: one, else it shows nothing", e.Name))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range experiments {
		l.exps[e.Name] = e
	}
	return nil
}

// Names returns the names of the registered experiments, sorted; never nil.
func (l *Lab) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.AppendSeq(make([]string, 0, len(l.exps)), maps.Keys(l.exps))
	slices.Sort(names)
	return names
}

// History returns the history of the lab.
func (l *Lab) History() *History { return l.opts.History }

// Run runs the experiment of this name, as [experiment.RunSimple] does, and adds the result to the history, unless
// it is a dry run. The error matches [ErrUnknown], or says that the history could not be written; the result is
// then valid.
func (l *Lab) Run(ctx context.Context, name string, dryRun bool) (experiment.Result, error) {
	l.mu.Lock()
	e := l.exps[name]
	l.mu.Unlock()
	if e == nil {
		known := cmp.Or(strings.Join(l.Names(), ", "), "none")
		return experiment.Result{}, fmt.Errorf("%w %q; registered: %s", ErrUnknown, name, known)
	}
	if dryRun {
		return experiment.RunSimple(ctx, e, true, l.opts.Options)
	}
	end, unwritten := l.opts.History.Begin(name)
	r, err := experiment.RunSimple(ctx, e, false, l.opts.Options)
	if err != nil {
		return r, errors.Join(err, end(nil))
	}
	if err := end(&r); err != nil {
		return r, err
	}
	return r, unwritten
}

// A Query selects the content of [Lab.Status].
type Query struct {
	_              struct{}
	IncludeResults bool
	// Experiment narrows the results and their counts; empty: all.
	Experiment string
}

// A Status is the output of the tool chaos_status.
type Status struct {
	ActiveFaults          []ActiveFault `json:"active_faults"`          // never nil
	RegisteredExperiments int           `json:"registered_experiments"` // how many there are
	Experiments           []string      `json:"experiments"`            // their names, sorted; never nil
	// Results are the results, oldest first, if the query asks for them.
	Results     []experiment.Result `json:"results,omitzero"`
	TotalRuns   int                 `json:"total_runs"`   // with those whose results are no longer kept
	SuccessRate float64             `json:"success_rate"` // the share of them that succeeded, 0 to 1; 0 without runs
	// Dropped is the number of results, of all experiments, that are no longer kept.
	Dropped uint64 `json:"dropped,omitempty"`
	// CutOff are the runs that an earlier process did not end; never nil.
	CutOff []CutOff `json:"cut_off"`
}

// An ActiveFault is a rule of the injector.
type ActiveFault struct {
	Name string `json:"name"`
	// FaultType is the kind of the fault, such as "latency".
	FaultType string `json:"fault_type"`
	// Probability is that of its trigger, 0 to 1; 1 for a trigger without chance.
	Probability float64 `json:"probability"`
	// InForce reports whether the rule can match calls. If it cannot, Reason says
	// why.
	InForce bool   `json:"in_force"`
	Reason  string `json:"reason,omitempty"`
	// ExpiresAt is when the fault is removed, UTC; nil: never.
	ExpiresAt *time.Time `json:"expires_at"`
}

// NewActiveFault describes a rule and whether it is in force.
func NewActiveFault(r chaos.RuleState) ActiveFault {
	f := ActiveFault{Name: r.Name, FaultType: remote.KindOf(r.Fault), Probability: remote.ProbabilityOf(r.When),
		InForce: r.Reason == "", Reason: r.Reason}
	if !r.Expires.IsZero() {
		f.ExpiresAt = new(r.Expires.UTC())
	}
	return f
}

// Status returns the rules of the injector, the registered experiments and, if the
// query asks for them, the kept results.
func (l *Lab) Status(q Query) Status {
	s := Status{ActiveFaults: []ActiveFault{}, Experiments: l.Names(), Dropped: l.opts.History.Dropped(),
		CutOff: l.opts.History.CutOff()}
	s.RegisteredExperiments = len(s.Experiments)
	if q.IncludeResults {
		s.Results = l.opts.History.Results(q.Experiment)
	}
	s.TotalRuns, s.SuccessRate = l.opts.History.SuccessRate(q.Experiment)
	if l.opts.Injector == nil {
		return s
	}
	for _, r := range l.opts.Injector.States() {
		s.ActiveFaults = append(s.ActiveFaults, NewActiveFault(r))
	}
	return s
}
