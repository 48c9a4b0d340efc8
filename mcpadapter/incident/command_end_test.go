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

// The record of an incident that the journal lost says how it ended, so none of its
// processes may be left.
func TestAnIncidentThatTheJournalLost(t *testing.T) {
	onlyWithSessions(t)
	t.Parallel()
	c := script(t, escapes+`wait; trap '' TERM; sleep 600`)
	j := job(t)
	j.Incident.IncidentID = "6f1c0a55-7f0e-4a51-9b0e-0c8b5a8a6e11"
	j.Incident.Status, j.Incident.CreatedAt, j.Incident.Severity = incident.StatusInvestigating, time.Now(), incident.Error
	ended, _ := begin(c, j) // by a runner that the next one does not know of
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, tc.text)
			j := job(t)
			j.Patience = 10 * time.Second
			if strings.Contains(tc.want, "killed") {
				j.Patience = 50 * time.Millisecond
			}
			ended, stop := begin(c, j)
			defer stop()
			require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(j.Dir, "ready")); return err == nil }, 20*time.Second, time.Millisecond)
			stop()
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

// The agent of a runner that was killed is ended by the next one, and the incident
// investigated again.
func TestAnAgentOutlivesItsRunner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the first agent cannot be found")
	}
	t.Parallel()
	world, dir := newWorld(t)
	agent, err := os.ReadFile(filepath.Join(dir, "agent.sh"))
	require.NoError(t, err)
	begin, rest, _ := strings.Cut(string(agent), "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.sh"),
		[]byte(begin+"\nwhile [ ! -e "+dir+"/go ]; do sleep 0.01; done\n"+rest), 0o600))
	start := func(events ...string) *exec.Cmd {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, append([]string{asRunner, dir, "0"}, events...)...)
		require.NoError(t, cmd.Start())
		return cmd
	}
	begun := func(n int) func() bool { return func() bool { return len(world.lines(t, "begun")) == n } }
	first := start("a")
	require.Eventually(t, begun(1), 20*time.Second, time.Millisecond)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	second := start()
	require.Eventually(t, begun(2), 20*time.Second, time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.NoError(t, second.Wait())
	in := onlyIncident(t, dir)
	assert.Equal(t, incident.StatusResolved, in.Status, in.FailureReason)
	assert.Len(t, world.lines(t, "finished"), 1)
	assert.Len(t, world.lines(t, "received"), 1)
}
