//go:build unix

package incident_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// TestHostileAgents sends programs that misbehave through the whole of the
// runner: each ends in a stated status, is recorded, and touches nothing outside
// its workspace.
func TestHostileAgents(t *testing.T) {
	report := fmt.Sprintf("printf '%%s' '%s' > output/investigation.md\n", strings.ReplaceAll(goodReport, "\n", "\\n"))
	for name, tc := range map[string]struct {
		text   string
		status incident.Status
		reason string
	}{
		"prints binary":               {`head -c 300000 /dev/zero; printf '\377\376\200'; ` + report, incident.StatusResolved, ""},
		"prints without end":          {`i=0; while [ $i -lt 20000 ]; do echo "$i $i $i $i $i $i $i $i"; i=$((i+1)); done; ` + report, incident.StatusResolved, ""},
		"removes its workspace":       {`rm -rf "$PWD"`, incident.StatusAgentFailed, "report missing: the workspace is gone"},
		"removes it and reports well": {`rm -rf "$PWD"; mkdir -p "$PWD/output"; cd "$PWD"; ` + report, incident.StatusResolved, ""},
		"makes a pipe of its report":  {`mkfifo output/investigation.md`, incident.StatusAgentFailed, "report unreadable: output/investigation.md: it is a named pipe, not a regular file"},
		"makes a link of its report":  {`ln -s /etc/passwd output/investigation.md`, incident.StatusAgentFailed, "report unreadable: output/investigation.md: path escapes from parent"},
		"takes its rights away":       {report + `chmod 0500 output .`, incident.StatusResolved, ""},
		"lets everybody in":           {report + `chmod 0777 .`, incident.StatusResolved, ""},
		"leaves a child that talks":   {`(trap '' HUP TERM; while :; do echo more; sleep 1; done) & ` + report, incident.StatusResolved, ""},
		"overwrites its record":       {`echo '{"status":"resolved","incidentId":"../../x"}' > incident.json; exit 3`, incident.StatusFailed, "agent exited with code 3"},
		"kills itself":                {`kill -KILL $$`, incident.StatusFailed, "agent crashed: signal: killed"},
		"fails after a good report":   {report + `exit 1`, incident.StatusFailed, "agent exited with code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d, in := investigated(t, script(t, tc.text), faultOf("../../../etc/"+name), nil)
			assert.Equal(t, tc.status, in.Status, in.FailureReason)
			assert.Equal(t, tc.reason, in.FailureReason)
			stored, err := d.spaces.Load()
			require.NoError(t, err)
			assert.Equal(t, []incident.Incident{in}, stored, "nothing is lost")
			info, err := os.Stat(d.spaces.Dir(in.IncidentID))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
			_ = os.Chmod(filepath.Join(d.spaces.Dir(in.IncidentID), "output"), 0o700) // so that it can be removed
			entries, err := os.ReadDir(filepath.Dir(d.root))
			require.NoError(t, err)
			assert.Len(t, entries, 1, "nothing escapes the root, whatever the resource is called")
			entries, err = os.ReadDir(d.root)
			require.NoError(t, err)
			assert.Len(t, entries, 2, "the workspace, and what the runner keeps")
		})
	}
}

// TestAnAgentThatIgnoresSIGTERM is killed at the shutdown, and its incident says so.
func TestAnAgentThatIgnoresSIGTERM(t *testing.T) {
	d := open(t, script(t, `trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 60; done`), func(o *incident.Options) { o.Grace = -1 })
	require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
	var pids []string
	require.Eventually(t, func() bool {
		pids, _ = filepath.Glob(filepath.Join(d.root, "*", "pid"))
		return len(pids) == 1
	}, 20*time.Second, time.Millisecond)
	pid := waitForPID(t, pids[0])
	d.stop()
	found, err := d.spaces.Load()
	require.NoError(t, err)
	require.Len(t, found, 1)
	in := found[0]
	assert.Equal(t, incident.StatusInterrupted, in.Status)
	assert.Equal(t, "the runner was shut down, and the agent was killed", in.FailureReason)
	assert.Nil(t, in.CompletedAt, "it has no end yet")
	assert.Eventually(t, func() bool { return gone(pid) }, 20*time.Second, time.Millisecond)
}
