package mcpadapter

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

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
