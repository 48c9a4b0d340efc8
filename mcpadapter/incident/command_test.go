//go:build unix

package incident_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// script makes an agent of a shell script.
func script(t *testing.T, text string) *incident.Command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sh")
	require.NoError(t, os.WriteFile(path, []byte("set -u\n"+text), 0o600))
	return &incident.Command{Path: []string{"sh", path}, Model: "sonnet", AllowedTools: "Read,Write"}
}

// job is one in a workspace of its own.
func job(t *testing.T) incident.Job {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "output"), 0o700))
	return incident.Job{Incident: incident.Incident{IncidentID: rand.Text()}, Dir: dir, Timeout: 90 * time.Second}
}

// begin runs an agent until it ends, or stop is called.
func begin(c *incident.Command, j incident.Job) (ended <-chan incident.Result, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	results := make(chan incident.Result, 1)
	go func() { results <- c.Investigate(ctx, j) }()
	return results, cancel
}

// A time-out below a second is not passed as 0, which a script would refuse.
func TestAShortTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]string{time.Millisecond: "1", 1500 * time.Millisecond: "2", 2 * time.Second: "2"} {
		j := job(t)
		j.Timeout = timeout
		r := script(t, `[ "$7" = --timeout ] && printf %s "$8"`).Investigate(context.Background(), j)
		assert.Equal(t, want, string(r.Output), timeout)
	}
}

func TestTheCommandProtocol(t *testing.T) {
	t.Setenv("ALLOWED", "yes")
	t.Setenv("SECRET_KEY", "no")
	c := script(t, `printf '%s\n' "$@" > args; env > env; pwd > where; echo "out sk-12345"; echo err >&2; exit 3`)
	c.Agent, c.SystemPromptFile, c.Prompt = "triage", "prompt.md", "Look into it"
	c.Pass, c.Env = []string{"ALLOWED"}, map[string]string{"AGENT_CLI": "offline"}
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "sk-12345", "[redacted]") }
	j := job(t)
	r := c.Investigate(context.Background(), j)
	assert.NoError(t, r.Err)
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "out [redacted]\nerr\n", string(r.Output))

	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(j.Dir, name))
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, "--workspace\n"+j.Dir+"\n--model\nsonnet\n--allowed-tools\nRead,Write\n--timeout\n90\n--agent\ntriage\n"+
		"--system-prompt-file\nprompt.md\nLook into it\n", read("args"))
	env := read("env")
	assert.Contains(t, env, "INCIDENT_ID="+j.Incident.IncidentID+"\n")
	assert.Contains(t, env, "ALLOWED=yes\n")
	assert.Contains(t, env, "AGENT_CLI=offline\n")
	assert.NotContains(t, env, "SECRET_KEY", "what is not allowed is not passed on")
	assert.Contains(t, read("where"), filepath.Base(j.Dir))

	plain := script(t, `printf '%s\n' "$@"`)
	assert.Equal(t, "--workspace\n"+j.Dir+"\n--model\nsonnet\n--allowed-tools\nRead,Write\n--timeout\n90\n"+incident.DefaultPrompt+"\n",
		string(plain.Investigate(context.Background(), j).Output), "what is not set is not given")
}

func TestHowCommandsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		command *incident.Command
		code    int
		err     string
	}{
		"well":                 {script(t, `exit 0`), 0, ""},
		"with a code":          {script(t, `exit 7`), 7, ""},
		"by a signal":          {script(t, `kill -SEGV $$`), -1, "agent crashed: signal: segmentation fault"},
		"never begun":          {&incident.Command{Path: []string{"/no/such/program"}}, -1, "agent could not be run: "},
		"without a program":    {&incident.Command{}, -1, "incident: Path is missing; allowed: a program"},
		"with bytes, not text": {script(t, `printf '\377\000\376'`), 0, ""},
	} {
		r := tc.command.Investigate(context.Background(), job(t))
		assert.Equal(t, tc.code, r.ExitCode, name)
		if tc.err == "" {
			assert.NoError(t, r.Err, name)
		} else {
			assert.ErrorContains(t, r.Err, tc.err, name)
		}
		assert.True(t, strings.ToValidUTF8(string(r.Output), "") == string(r.Output), name)
	}
}

func TestOutputIsBounded(t *testing.T) {
	r := script(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i ........................................................"; i=$((i+1)); done`).
		Investigate(context.Background(), job(t))
	assert.Regexp(t, `^\[\d+ bytes before this\]\n`, string(r.Output))
	assert.Less(t, len(r.Output), 66<<10)
	assert.True(t, strings.HasSuffix(string(r.Output), "line 2999 ........................................................\n"), "the end is what counts")
}

// escapes starts a program that opens a session of its own and loses its parents.
const escapes = `cat >escape.sh <<'END'
trap '' TERM HUP
echo $$ >pid
sleep 600
END
setsid sh -c '(sh escape.sh &)' & `

// onlyWithSessions skips a test of what escapes.
func onlyWithSessions(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux can find what opened a session of its own, and setsid makes one")
	}
}

// TestNoProcessIsLeft runs agents that resist, and looks for their processes.
func TestNoProcessIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		cancel bool
		err    string
	}{
		"one that ignores SIGTERM":      {`trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 60; done`, true, "and the agent was killed"},
		"one that forks and ends":       {`trap '' HUP; (sleep 600 & echo $! > pid; wait) & while [ ! -s pid ]; do :; done; exit 0`, false, ""},
		"one whose children ignore all": {`(trap '' TERM HUP; echo $$ > parent; sleep 600 & echo $! > pid; wait) & while [ ! -s pid ]; do :; done; wait`, true, "and the agent was killed"},
		// the environment of the program says whose it is
		"one that ended before what escaped": {escapes + "while [ ! -s pid ]; do :; done; exit 0", false, ""},
		"one that is ended with it":          {escapes + "while [ ! -s pid ]; do :; done; wait; sleep 600", true, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(tc.text, escapes) {
				onlyWithSessions(t)
			}
			t.Parallel()
			j := job(t)
			ended, stop := begin(script(t, tc.text), j)
			defer stop()
			pid := waitForPID(t, filepath.Join(j.Dir, "pid"))
			if tc.cancel {
				stop()
			}
			r := <-ended
			if tc.err == "" {
				assert.NoError(t, r.Err)
			} else {
				assert.ErrorContains(t, r.Err, tc.err)
			}
			assert.Eventually(t, func() bool { return gone(pid) }, 20*time.Second, time.Millisecond)
		})
	}
}

func waitForPID(t *testing.T, path string) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(path)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil
	}, 20*time.Second, time.Millisecond)
	return pid
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return strings.Contains(string(stat), ") Z ")
	}
	stat, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(stat)), "Z")
}
