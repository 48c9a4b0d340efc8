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

// TestATimeThatNoRecordCanHold is refused: in UTC its year has no RFC 3339
// form, so that the incident could not be written down.
func TestATimeThatNoRecordCanHold(t *testing.T) {
	for _, at := range []string{"9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00+14:00"} {
		_, err := incident.ParseEvent("chaos/faults", json.RawMessage(`{"faultType":"error","timestamp":"`+at+`"}`), received)
		assert.ErrorContains(t, err, "incident: timestamp is", at)
	}
}

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
				d := open(t, incident.AgentFunc(works), nil)
				require.NoError(t, d.Offer("kubernetes/faults", json.RawMessage(payload)))
				in := <-d.ended
				d.stop()
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

// TestHowLongAReportHasToBe counts bytes, and no padding.
func TestHowLongAReportHasToBe(t *testing.T) {
	for text, reason := range map[string]string{
		strings.Repeat("x", 100):            "",
		strings.Repeat("x", 99) + "\n":      "", // 100 bytes
		strings.Repeat("x", 99):             "report too small: 99 bytes, at least 100 are needed",
		"done\n" + strings.Repeat(" ", 200): "report too small: 4 bytes, at least 100 are needed",
		strings.Repeat("\n", 200):           "report too small: 1 bytes, at least 100 are needed",
		"":                                  "report too small: 0 bytes, at least 100 are needed",
	} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, incident.AgentFunc(func(_ context.Context, job incident.Job) error { return writeReport(job, text) }), nil)
			require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
			in := <-d.ended
			d.stop()
			assert.Equal(t, reason, in.FailureReason, "%q", text)
		})
	}
}

// TestATimeoutWithoutEnd is as long as there is time.
func TestATimeoutWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(works), func(o *incident.Options) { o.Timeout = 1<<63 - 1 })
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		in := <-d.ended
		d.stop()
		assert.Equal(t, incident.StatusResolved, in.Status, in.FailureReason)
		assert.Equal(t, time.Second, in.CompletedAt.Sub(*in.StartedAt))
	})
}
