package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/processgroup"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A Command is an agent that is a program, run once for each incident as
//
//	bash SCRIPT --workspace D --model M --allowed-tools T --timeout S [--agent A] [--system-prompt-file F] PROMPT
//
// in its workspace, with INCIDENT_ID in its environment. It leads a process
// group of its own. When the runner stops, the group gets SIGTERM, and is
// killed after the job's patience. When its time is over, it is killed at once.
// When the program has ended, what it left behind is killed: its group, and on
// Linux every process with its INCIDENT_ID.
//
// Only a runner that is still alive learns how the program ended: a later runner
// ends it where it can be found, and investigates again.
type Command struct {
	_                struct{}
	Path             []string          // the program and its first arguments, such as bash and a script
	Model            string            // --model
	AllowedTools     string            // --allowed-tools
	Agent            string            // --agent; "": not given
	SystemPromptFile string            // --system-prompt-file; "": not given
	Prompt           string            // the last argument; "": DefaultPrompt
	Pass             []string          // variables that the program inherits, besides PATH, HOME and the like
	Env              map[string]string // variables of its own
	// Redact takes secrets out of the output; nil: policy.Redact, which knows their usual forms.
	Redact func(string) string
}

// DefaultPrompt asks for what a report needs.
const DefaultPrompt = "Investigate the incident in incident.json in your workspace. " +
	"Write output/investigation.md: what failed, since when, who else was affected, when it recovered, " +
	"the likely cause under the heading \"## Root Cause\", a line \"Confidence: high, medium or low\", and the evidence."

// incidentVariable tells a program which incident it is about, and its processes
// are found by it.
const incidentVariable = "INCIDENT_ID"

// usualVariables are those that programs cannot do without and that hold no
// secrets.
func usualVariables() []string {
	return []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC",
		"PATHEXT", "USERPROFILE"}
}

// pipePatience is how long output is still read after the program has ended;
// a process that it left behind may hold the pipe.
const pipePatience = 2 * time.Second

// Investigate runs the program.
func (c *Command) Investigate(ctx context.Context, job Job) Result {
	if len(c.Path) == 0 || c.Path[0] == "" {
		return failed(fields.Wrong("Path", nil, "a program"))
	}
	cmd := exec.Command(c.Path[0], append(c.Path[1:len(c.Path):len(c.Path)], c.args(job)...)...)
	cmd.Dir, cmd.Env = job.Dir, c.environment(job)
	processgroup.Lead(cmd)
	r, w, err := os.Pipe() // not one of cmd, whose Wait would wait for all that hold it
	if err != nil {
		return failed(fmt.Errorf("agent could not be run: %w", err))
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return failed(fmt.Errorf("agent could not be run: %w", err))
	}
	out, read, ended := new(processgroup.Tail), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(read)
		_, _ = io.Copy(out, r) // ends when no process can write any more
	}()
	go func() { ended <- cmd.Wait() }()
	if job.running != nil {
		job.running()
	}
	leader := cmd.Process.Pid
	killed, err := await(ctx, ended, leader, job.Patience)
	processgroup.Kill(leader) // whatever it left behind
	killStrays(job.Incident.IncidentID)
	select {
	case <-read:
	case <-time.After(pipePatience):
	}
	_ = r.Close()
	<-read
	result := endOf(err)
	result.Output = c.redact(out.String())
	return attributed(ctx, result, killed)
}

// await waits for a program. If the context ends because the time is over, its group is
// killed. If it ends for any other reason, the group is asked to end, and killed after
// the patience.
func await(ctx context.Context, ended <-chan error, leader int, patience time.Duration) (killed bool, err error) {
	select {
	case err := <-ended:
		return false, err
	case <-ctx.Done():
	}
	if patience > 0 && !errors.Is(context.Cause(ctx), errTimeout) {
		processgroup.AskToEnd(leader)
		select {
		case err := <-ended:
			return false, err
		case <-time.After(patience):
		}
	}
	processgroup.Kill(leader)
	return true, <-ended
}

// endOf is how a program ended, by the error of Wait.
func endOf(err error) Result {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return Result{}
	case exited && exit.Exited():
		return Result{ExitCode: exit.ExitCode()}
	case exited:
		return failed(fmt.Errorf("agent crashed: %v", exit.ProcessState))
	}
	return failed(fmt.Errorf("agent could not be waited for: %w", err))
}

// attributed returns the result of a program whose context may have ended. A good
// end counts; any other is attributed to the end of the context.
func attributed(ctx context.Context, r Result, killed bool) Result {
	if ctx.Err() == nil || r.Err == nil && r.ExitCode == 0 {
		return r
	}
	what := "and the agent ended"
	if killed {
		what = "and the agent was killed"
	}
	return Result{ExitCode: -1, Err: fmt.Errorf("%w, %s", context.Cause(ctx), what), Output: r.Output}
}

func (c *Command) args(job Job) []string {
	args := []string{
		"--workspace", job.Dir, "--model", c.Model, "--allowed-tools", c.AllowedTools,
		"--timeout", fmt.Sprint(int64(math.Ceil(job.Timeout.Seconds()))), // less than a second is not 0
	}
	if c.Agent != "" {
		args = append(args, "--agent", c.Agent)
	}
	if c.SystemPromptFile != "" {
		args = append(args, "--system-prompt-file", c.SystemPromptFile)
	}
	return append(args, cmp.Or(c.Prompt, DefaultPrompt))
}

// environment is what the program may know.
func (c *Command) environment(job Job) []string {
	env := []string{}
	for _, name := range append(usualVariables(), c.Pass...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	return append(env, incidentVariable+"="+job.Incident.IncidentID)
}

func (c *Command) redact(output string) []byte {
	if c.Redact != nil {
		return []byte(c.Redact(output))
	}
	return []byte(policy.Redact(output))
}
