package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

type experimentInput struct {
	ExperimentName string `json:"experiment_name" jsonschema:"name of a registered experiment; chaos_status lists them" len:"1,256"`
	DryRun         bool   `json:"dry_run,omitempty" jsonschema:"only check the steady state once: no action, no rollback, nothing in the history" default:"false"`
}

func runExperiment() (*tool, error) {
	return define(tool{
		Name: "chaos_run_experiment", Title: "Run a chaos experiment", Area: "chaos", Target: "experiment_name",
		ReadsIf: "dry_run",
		Description: `Runs a registered experiment against the live program: checks the steady state, acts, checks again, rolls back, and checks once more.
success is the steady state after the action; steady_state_recovered that after the rollback. When the program is not in its steady state to begin with, nothing is done. error says in words what went wrong; an action may fail and the steady state hold all the same. The rollback runs also when the call is cancelled.
duration_seconds is in seconds, started_at is UTC. Start with dry_run true: it checks the steady state and does nothing else. One experiment runs once at a time.`,
		Kind: kind{Write: true, Destructive: true, OpenWorld: true},
	}, func(ctx context.Context, c *call, in experimentInput) (experiment.Result, error) {
		s := c.Server
		if !in.DryRun {
			if err := s.rules.guard("running an experiment"); err != nil {
				return experiment.Result{}, err
			}
			free, err := s.runsAlone(fmt.Sprintf("experiment %q", in.ExperimentName))
			if err != nil {
				return experiment.Result{}, err
			}
			defer free()
		}
		r, err := s.host.Experiments.Run(ctx, in.ExperimentName, in.DryRun)
		if err != nil && r.Name != "" { // it ran, but could not be remembered
			r.Warnings, err = append(r.Warnings, err.Error()), nil
		}
		return r, err
	})
}

type statusInput struct {
	IncludeResults bool   `json:"include_results,omitempty" jsonschema:"also list the results of past runs, newest 100, oldest first" default:"false"`
	ExperimentName string `json:"experiment_name,omitempty" jsonschema:"narrow results, total_runs and success_rate to this experiment" len:"1,256"`
}

type statusOutput struct {
	gameday.Status
	AuditProblem   string `json:"audit_problem,omitempty" jsonschema:"why the audit log loses lines; while it does, calls that write are refused"`
	ResultsOmitted int    `json:"results_omitted,omitempty" jsonschema:"older results that this answer leaves out"`
}

// maxResults bounds the results of one answer.
const maxResults = 100

func chaosStatus() (*tool, error) {
	return define(tool{
		Name: "chaos_status", Title: "Chaos status", Area: "chaos", Target: "experiment_name",
		Description: `Tells which faults are registered in the live program and whether they are in force, which experiments are registered, and how past runs went.
success_rate is a fraction from 0 to 1. Ask for results only if you need them, and narrow them by experiment_name; an unknown name gives empty results. Faults registered from the program's own code are listed with their own kind; one whose trigger leaves nothing to chance has probability 1.`,
	}, func(_ context.Context, c *call, in statusInput) (statusOutput, error) {
		return c.Server.status(in), nil
	})
}

func (s *Server) status(in statusInput) statusOutput {
	out := statusOutput{AuditProblem: s.auditProblem(), Status: gameday.Status{
		ActiveFaults: []gameday.ActiveFault{}, Experiments: []string{}, CutOff: []gameday.CutOff{}}}
	if lab := s.host.Experiments; lab != nil {
		out.Status = lab.Status(gameday.Query{IncludeResults: in.IncludeResults, Experiment: in.ExperimentName})
	}
	if in.IncludeResults && out.Results == nil {
		out.Results = []experiment.Result{}
	}
	if over := len(out.Results) - maxResults; over > 0 {
		out.Results, out.ResultsOmitted = out.Results[over:], over
	}
	if s.host.Injector == nil {
		return out
	}
	s.rules.sweep()
	out.ActiveFaults = []gameday.ActiveFault{}
	for _, r := range s.host.Injector.States() {
		out.ActiveFaults = append(out.ActiveFaults, activeFault(r))
	}
	return out
}
