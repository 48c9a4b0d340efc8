//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package incident_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

func kept(t *testing.T, text string) *incident.Command {
	t.Helper()
	c := script(t, text)
	c.Keeper = keeper(t)
	return c
}

// TestAKeeperChangesNothing about how a command ends.
func TestAKeeperChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		command *incident.Command
		code    int
		err     string
		output  string
	}{
		"well":              {kept(t, `echo out; echo err >&2; exit 0`), 0, "", "out\nerr\n"},
		"with a code":       {kept(t, `exit 7`), 7, "", ""},
		"with a high code":  {kept(t, `exit 137`), 137, "", ""},
		"by a signal":       {kept(t, `kill -SEGV $$`), -1, "agent crashed: signal: segmentation fault", ""},
		"never begun":       {&incident.Command{Path: []string{"/no/such/program"}, Keeper: keeper(t)}, -1, "agent could not be run: ", ""},
		"without a keeper":  {&incident.Command{Path: []string{"sh"}, Keeper: []string{"/no/such/program"}}, -1, "agent could not be run: ", ""},
		"an empty keeper":   {&incident.Command{Path: []string{"sh"}, Keeper: []string{""}}, -1, `incident: Keeper is ""; allowed: a program, or none`, ""},
		"a keeper of sorts": {&incident.Command{Path: []string{"sh"}, Keeper: []string{"true"}}, -1, "the agent's keeper ended before the agent: it exited", ""},
		"killing its keeper": {kept(t, `kill -KILL $PPID; sleep 600`), -1,
			"the agent's keeper ended before the agent: agent crashed: signal: killed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && name == "killing its keeper" {
				t.Skip("nobody can find the agent then")
			}
			t.Parallel()
			r := tc.command.Investigate(context.Background(), job(t))
			assert.Equal(t, tc.code, r.ExitCode)
			assert.Equal(t, tc.output, string(r.Output))
			if tc.err == "" {
				assert.NoError(t, r.Err)
			} else {
				assert.ErrorContains(t, r.Err, tc.err)
			}
		})
	}
}

// A program that opens a session of its own and loses its parents is ended with the
// agent: its environment says whose it is.
func TestASessionOfItsOwnIsFound(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux can find what opened a session of its own, and setsid makes one")
	}
	for name, tc := range map[string]struct {
		keeper []string
		then   string
		end    bool // by the context
	}{
		"after an agent that ended, kept":     {keeper(t), "exit 0", false},
		"with an agent that is ended, kept":   {keeper(t), "wait; sleep 600", true},
		"after an agent that ended, unkept":   {nil, "exit 0", false},
		"with an agent that is ended, unkept": {nil, "wait; sleep 600", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, `cat >escape.sh <<'END'
trap '' TERM HUP
echo $$ >pid
sleep 600
END
setsid sh -c '(sh escape.sh &)' & while [ ! -s pid ]; do :; done; `+tc.then)
			c.Keeper = tc.keeper
			j := job(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan incident.Result, 1)
			go func() { ended <- c.Investigate(ctx, j) }()
			pid := waitForPID(t, filepath.Join(j.Dir, "pid"))
			if tc.end {
				cancel()
			}
			<-ended
			assert.Eventually(t, func() bool { return gone(pid) }, 20*time.Second, time.Millisecond)
		})
	}
}

// The record of an incident that the journal lost says how it ended, so none of its
// processes may be left.
func TestAnIncidentThatTheJournalLost(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux can find what opened a session of its own, and setsid makes one")
	}
	t.Parallel()
	c := script(t, `cat >escape.sh <<'END'
trap '' TERM HUP
echo $$ >pid
sleep 600
END
setsid sh -c '(sh escape.sh &)' & wait; trap '' TERM; sleep 600`)
	c.Keeper = keeper(t)
	j := job(t)
	j.Incident.IncidentID = "6f1c0a55-7f0e-4a51-9b0e-0c8b5a8a6e11"
	j.Incident.Status, j.Incident.CreatedAt, j.Incident.Severity = incident.StatusInvestigating, time.Now(), incident.Error
	ended := make(chan incident.Result, 1)
	go func() { ended <- c.Investigate(context.Background(), j) }() // by a runner that the next one does not know of
	pid := waitForPID(t, filepath.Join(j.Dir, "pid"))
	spaces, err := incident.NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, spaces.Save(j.Incident, nil))
	runner, err := incident.NewRunner(&incident.Options{Workspaces: spaces, Agent: c})
	require.NoError(t, err)
	require.True(t, gone(pid))
	<-ended
	found, err := spaces.Load()
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, incident.StatusFailed, found[0].Status)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	assert.NoError(t, runner.Run(ctx))
}

// TestAnAgentIsToldBeforeItIsEnded: SIGTERM, and SIGKILL after the patience.
func TestAnAgentIsToldBeforeItIsEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"one that ends well":   {`trap 'echo told; exit 0' TERM; : >ready; while :; do sleep 0.01; done`, ""},
		"one that ends":        {`: >ready; while :; do sleep 0.01; done`, "context canceled, and the agent ended"},
		"one that never hears": {`trap '' TERM; : >ready; while :; do sleep 60; done`, "context canceled, and the agent was killed"},
	} {
		for _, k := range [][]string{nil, keeper(t)} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := script(t, tc.text)
				c.Keeper = k
				j := job(t)
				j.Patience = 10 * time.Second
				if strings.Contains(tc.want, "killed") {
					j.Patience = 50 * time.Millisecond
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ended := make(chan incident.Result, 1)
				go func() { ended <- c.Investigate(ctx, j) }()
				require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(j.Dir, "ready")); return err == nil }, 20*time.Second, time.Millisecond)
				cancel()
				r := <-ended
				if tc.want != "" {
					assert.EqualError(t, r.Err, tc.want)
					return
				}
				assert.NoError(t, r.Err)
				assert.Zero(t, r.ExitCode)
				assert.Contains(t, string(r.Output), "told\n") // the shell says besides what ended its child
			})
		}
	}
}

// TestAnAgentOutlivesItsRunner: the next runner waits for it and takes what it
// found. Without a keeper it is ended, and the incident investigated again.
func TestAnAgentOutlivesItsRunner(t *testing.T) {
	for name, tc := range map[string]struct {
		environ string
		begun   int
	}{"with a keeper": {"", 1}, "without": {withoutKeeper + "=1", 2}} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && tc.begun == 2 {
				t.Skip("the first agent cannot be found")
			}
			t.Parallel()
			world, dir := newWorld(t)
			report, err := os.ReadFile(filepath.Join(dir, "agent.sh"))
			require.NoError(t, err)
			begin, rest, _ := strings.Cut(string(report), "\n")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.sh"),
				[]byte(begin+"\nwhile [ ! -e "+dir+"/go ]; do sleep 0.01; done\necho a word to a runner that is gone\n"+rest), 0o600))
			start := func(events ...string) *exec.Cmd {
				self, err := os.Executable()
				require.NoError(t, err)
				cmd := exec.Command(self, append([]string{asRunner, dir, "0"}, events...)...)
				cmd.Env = append(os.Environ(), tc.environ)
				require.NoError(t, cmd.Start())
				return cmd
			}
			first := start("a")
			require.Eventually(t, func() bool { return len(world.lines(t, "begun")) == 1 }, 20*time.Second, time.Millisecond)
			require.NoError(t, first.Process.Kill())
			_ = first.Wait() // it was killed
			second := start()
			require.Eventually(t, func() bool {
				log, _ := os.ReadFile(filepath.Join(dir, "log"))
				return strings.Contains(string(log), "an earlier runner left work") && len(world.lines(t, "begun")) == tc.begun
			}, 20*time.Second, time.Millisecond)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
			require.NoError(t, second.Wait())
			spaces, err := incident.NewWorkspaces(filepath.Join(dir, "incidents"))
			require.NoError(t, err)
			found, err := spaces.Load()
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, incident.StatusResolved, found[0].Status, found[0].FailureReason)
			assert.Len(t, world.lines(t, "begun"), tc.begun)
			assert.Len(t, world.lines(t, "finished"), 1)
			assert.Len(t, world.lines(t, "received"), 1)
		})
	}
}

// An incident whose runner died three times during it fails.
func TestACrashingRunnerGivesUp(t *testing.T) {
	world, dir := newWorld(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte("echo x >>"+dir+"/begun; kill -KILL $(cat "+dir+"/incidents/.runner/lock | tr -dc '0-9:,' | cut -d: -f2 | cut -d, -f1); sleep 600"), 0o600))
	t.Setenv(withoutKeeper, "1")
	for i := range 3 {
		events := []string{"a"}[:max(0, 1-i)]
		_, killed := startRunner(t, dir, 0, events...)
		require.True(t, killed, i)
	}
	startRunner(t, dir, 0)
	assert.Len(t, world.lines(t, "begun"), 3)
	spaces, err := incident.NewWorkspaces(filepath.Join(dir, "incidents"))
	require.NoError(t, err)
	found, err := spaces.Load()
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, incident.StatusFailed, found[0].Status)
	assert.Equal(t, "the runner died 3 times while the agent was running", found[0].FailureReason)
}
