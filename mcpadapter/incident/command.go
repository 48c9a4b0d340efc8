package incident

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

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

// maxOutput is how much of an agent's output is kept: its end, where the
// reason of a failure stands.
const maxOutput = 64 << 10

// pipePatience is how long output is still read after the program has ended;
// a process that it left behind may hold the pipe.
const pipePatience = 2 * time.Second

// Investigate runs the program.
func (c *Command) Investigate(ctx context.Context, job Job) Result {
	if len(c.Path) == 0 || c.Path[0] == "" {
		return failed(fields.Wrong("Path", nil, "a program"))
	}
	out := newTail(maxOutput)
	cmd := exec.Command(c.Path[0], append(c.Path[1:len(c.Path):len(c.Path)], c.args(job)...)...)
	cmd.Dir, cmd.Env = job.Dir, c.environment(job)
	p, err := startProcess(cmd, out)
	if err != nil {
		return failed(fmt.Errorf("agent could not be run: %w", err))
	}
	if job.running != nil {
		job.running()
	}
	killed := p.await(ctx, job.Patience)
	p.kill() // whatever it left behind
	killStrays(job.Incident.IncidentID)
	p.drain()
	result := p.result()
	result.Output = c.redact(out.text())
	return attributed(ctx, result, killed)
}

func (c *Command) args(job Job) []string {
	args := []string{
		"--workspace", job.Dir, "--model", c.Model, "--allowed-tools", c.AllowedTools,
		"--timeout", strconv.FormatInt(seconds(job.Timeout), 10),
	}
	if c.Agent != "" {
		args = append(args, "--agent", c.Agent)
	}
	if c.SystemPromptFile != "" {
		args = append(args, "--system-prompt-file", c.SystemPromptFile)
	}
	if c.Prompt != "" {
		return append(args, c.Prompt)
	}
	return append(args, DefaultPrompt)
}

// seconds rounds up, so that less than a second does not become 0.
func seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
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

// tail keeps the last bytes that were written to it.
type tail struct {
	mu      sync.Mutex
	most    int
	kept    []byte
	skipped uint64
}

func newTail(most int) *tail { return &tail{most: most} }

// maxLine is the longest beginning that is left out for being half a line.
const maxLine = 8 << 10

// Write never fails: a long output must not end a program.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.most {
		t.cut()
	}
	return len(p), nil
}

func (t *tail) cut() {
	if over := len(t.kept) - t.most; over > 0 {
		t.skipped += uint64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

// text returns the kept bytes as text; invalid bytes are replaced.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut()
	if at := bytes.IndexByte(t.kept, '\n'); t.skipped > 0 && at >= 0 && at < maxLine {
		// Half a line may be half a secret, which redaction would not recognise.
		t.skipped += uint64(at + 1)
		t.kept = t.kept[at+1:]
	}
	s := strings.ToValidUTF8(string(t.kept), "\uFFFD")
	if t.skipped > 0 {
		s = fmt.Sprintf("[%d bytes before this]\n%s", t.skipped, s)
	}
	return s
}
