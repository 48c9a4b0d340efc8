package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// TestRecordsStayReadable sends the text that grows most when it is recorded.
func TestRecordsStayReadable(t *testing.T) {
	for name, payload := range map[string]string{
		"many logs":   `{"event":{"reason":"BackOff"},"logs":[{}` + strings.Repeat(",{}", 300_000) + `]}`,
		"many signs":  `{"faultType":"error","context":"` + strings.Repeat("<", 1<<20-100) + `"}`,
		"long and é":  `{"faultType":"error","context":"` + strings.Repeat("é", 1<<19-100) + `"}`,
		"many breaks": `{"faultType":"error","context":"` + strings.Repeat(`\u0001`, 170_000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, in := investigated(t, incident.AgentFunc(works), json.RawMessage(payload), nil)
				assert.Equal(t, incident.StatusResolved, in.Status)
				stored, err := d.spaces.Load()
				require.NoError(t, err)
				require.Len(t, stored, 1)
				assert.Equal(t, in.Context, stored[0].Context)
			})
		})
	}
}

// TestTheRootIsMadeAgain: an agent that removes all incidents does not keep
// its own, and those after it, from being recorded.
func TestTheRootIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
			if job.Incident.Resource.Name == "first" {
				return os.RemoveAll(filepath.Dir(job.Dir))
			}
			return works(ctx, job)
		}), func(o *incident.Options) { o.MaxAgents = 1 })
		require.NoError(t, errors.Join(d.Offer("chaos/faults", faultOf("first")), d.Offer("chaos/faults", faultOf("second"))))
		first, second := <-d.ended, <-d.ended
		d.stop()
		assert.Equal(t, incident.StatusAgentFailed, first.Status)
		assert.Equal(t, incident.StatusResolved, second.Status, second.FailureReason)
		stored, err := d.spaces.Load()
		require.NoError(t, err)
		assert.ElementsMatch(t, []incident.Incident{first, second}, stored)
	})
}

// TestARestartEndsWhatAnAgentWrote: the record of an incident that was under
// investigation may be its agent's own work.
func TestARestartEndsWhatAnAgentWrote(t *testing.T) {
	root := t.TempDir()
	spaces, err := incident.NewWorkspaces(root)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a", incident.RecordFile), []byte(`{"incidentId":"a","status":"investigating"}`), 0o600))
	_, err = incident.NewRunner(&incident.Options{Workspaces: spaces, Agent: incident.AgentFunc(works)})
	require.NoError(t, err)
	stored, err := spaces.Load()
	require.NoError(t, err)
	require.Len(t, stored, 1)
	assert.Equal(t, incident.StatusFailed, stored[0].Status)
}

// TestATimeoutWithoutEnd is as long as there is time.
func TestATimeoutWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, in := investigated(t, incident.AgentFunc(works), faultOf("refund"), func(o *incident.Options) { o.Timeout = 1<<63 - 1 })
		assert.Equal(t, incident.StatusResolved, in.Status, in.FailureReason)
		assert.Equal(t, time.Second, in.CompletedAt.Sub(*in.StartedAt))
	})
}
