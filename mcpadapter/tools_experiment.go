package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
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

type scenarioOutput struct {
	Summary string      `json:"summary"`
	RunID   string      `json:"runId" jsonschema:"id of the new run, for the other timeline tools"`
	Seed    string      `json:"seed" jsonschema:"seed of its draws, a decimal string"`
	State   trace.State `json:"state,omitempty" jsonschema:"running if it goes on; left out when it is done"`
	Repeats bool        `json:"repeats" jsonschema:"the same request gives the same series again"`
	Unread  []string    `json:"unread,omitempty" jsonschema:"parameters that had no effect: the workload did not ask for them, or did not call the node"`
	Notes   []string    `json:"notes,omitempty"`
}

func runScenario() (*tool, error) {
	return define(tool{
		Name: "run_scenario", Title: "Run a what-if scenario", Area: "timeline", Target: "baseRunId",
		Description: `Runs the host's workload again like a former run, but under changed conditions: concurrency limits scaled (capacityMultiplier), pauses before retries scaled (retryDelayMultiplier), or one node down for some bins (outageInjection). It runs on an injector of its own, apart from the live program's, one at a time.
The answer has the runId to ask the timeline tools about. A run that takes longer than this call may wait goes on in the background: state is then running, and get_runs shows when it is done. repeats reports whether the same seed gives the same series: it does where the workload runs in virtual time, not in a live program. A parameter that the workload does not read is told in unread; if it reads none, that is an error.`,
		Kind:  kind{Write: true, OpenWorld: true},
		Limit: &policy.Limit{PerSecond: 0.5, Burst: 5},
	}, func(ctx context.Context, c *call, in trace.ScenarioRequest) (scenarioOutput, error) {
		return c.Server.scenario(ctx, in)
	})
}

func (s *Server) scenario(ctx context.Context, in trace.ScenarioRequest) (scenarioOutput, error) {
	life, stop := context.WithCancel(s.life) // the run may outlive the call
	started, err := s.host.Runs.StartScenario(life, in)
	if err != nil {
		stop()
		return scenarioOutput{}, err
	}
	done, err := s.active.begin() // Shutdown waits for the run, too
	if err != nil {
		stop()
		return scenarioOutput{}, err
	}
	go func() {
		defer done()
		defer stop()
		_, _ = s.host.Runs.Wait(life, started.RunID) // the store has the outcome
	}()
	wait, cancel := context.WithTimeout(ctx, s.limits.ScenarioWait)
	defer cancel()
	r, err := s.host.Runs.Wait(wait, started.RunID)
	if ctx.Err() != nil && r.State == trace.StateRunning {
		stop() // no call waits for it any more
		return scenarioOutput{}, ctx.Err()
	}
	if err != nil {
		return scenarioOutput{}, runFailed(r, err)
	}
	out := scenarioOutput{RunID: r.RunID, Seed: fmt.Sprint(r.Seed), State: r.State, Repeats: r.Repeats,
		Unread: r.Unread, Notes: r.Notes}
	out.Summary = fmt.Sprintf("%s is done.", r.RunID)
	if r.State == trace.StateRunning {
		out.Summary = fmt.Sprintf("%s is still running: get_runs shows when it is done.", r.RunID)
	}
	if len(r.Unread) > 0 {
		out.Summary = text.Sentences(out.Summary, "Some parameters had no effect, see unread.")
	}
	return out, nil
}

func runFailed(r trace.Result, err error) error {
	p := *problemOf(err)
	if p.Code == policy.CodeToolError {
		p.Code, p.Hint = codeRunFailed,
			"The workload failed; what was recorded until then is kept under the id in detail."
	}
	p.Detail = fmt.Sprintf("run %s failed: %s", r.RunID, p.Detail)
	return &p
}
