package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// inProcess is the offline agent without a process.
func inProcess(server offline.Server) (incident.Agent, error) {
	return incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
		return report(ctx, server, job.Dir, job.Timeout)
	}), nil
}

// onStage is a demonstration without a network.
func onStage(t *testing.T, out io.Writer, agent func(offline.Server) (incident.Agent, error)) *stage {
	d, err := openDesk("a-token-for-the-test")
	require.NoError(t, err)
	web := chaoshttp.InProcess(d.server.Handler())
	return &stage{desk: d, root: t.TempDir(), out: out, agent: agent, log: slog.New(slog.DiscardHandler),
		server: offline.Server{Endpoint: "http://localhost/mcp", Token: "a-token-for-the-test", Client: &http.Client{Transport: web}},
		listen: func(ctx context.Context) error {
			<-ctx.Done()
			return errors.Join(d.server.Shutdown(context.WithoutCancel(ctx)), web.Close())
		}}
}

// TestTheDemonstration runs all of it in virtual time: the desk, its MCP server,
// the subscriber, the runner and the agent.
func TestTheDemonstration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, began := new(bytes.Buffer), time.Now()
		g := onStage(t, out, inProcess)
		require.NoError(t, g.run(t.Context()), out)
		assert.Less(t, time.Since(began), 40*time.Second)
		assert.Contains(t, out.String(), "- Target: payments.refund\n- Kind: error\n")
		assert.Contains(t, out.String(), "- desk.answer (calls it): failing")
		assert.Regexp(t, `Recovery time: \S+, from`, out.String())
		assert.Contains(t, out.String(), "the report names payments.refund, which was injected; the fault was in force for 6s")
		records, err := filepath.Glob(filepath.Join(g.root, "*", incident.RecordFile))
		require.NoError(t, err)
		require.Len(t, records, 1, "many calls failed; they are one incident")
		doc, err := os.ReadFile(records[0])
		require.NoError(t, err)
		var in incident.Incident
		require.NoError(t, json.Unmarshal(doc, &in))
		assert.Equal(t, incident.StatusResolved, in.Status)
	})
}

// TestAnAgentThatBlamesAnother makes the demonstration fail.
func TestAnAgentThatBlamesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := onStage(t, new(bytes.Buffer), func(offline.Server) (incident.Agent, error) {
			return incident.AgentFunc(func(_ context.Context, job incident.Job) error {
				text := "# Investigation\n\n- Target: mail.send\n- Since: 2001-01-01T00:00:00Z\n\n## Root Cause\n\nSomething else, as far as one can tell, and nothing more is known: not answered.\n"
				return os.WriteFile(filepath.Join(job.Dir, incident.ReportFile), []byte(text), 0o600)
			}), nil
		})
		err := g.run(t.Context())
		for _, want := range []string{`"mail.send" failed; it was "payments.refund"`, "Since in the report is .* off", "Until in the report is .* off", "did not answer a question"} {
			assert.Regexp(t, want, err.Error())
		}
	})
}

func TestADemonstrationThatIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // amid the outage
		defer cancel()
		assert.ErrorIs(t, onStage(t, new(bytes.Buffer), inProcess).run(ctx), context.DeadlineExceeded)
	})
}

// inRealTime asks for the test below: it takes about twenty seconds.
const inRealTime = "TRIAGE_TEST_DEMO"

// TestTheDemonstrationInRealTime is what a user runs, with the agent as a process of its own.
func TestTheDemonstrationInRealTime(t *testing.T) {
	if os.Getenv(inRealTime) == "" {
		t.Skip("set " + inRealTime + " to run it: it takes twenty seconds")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-demo")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "the report names payments.refund")
	t.Logf("%s", out)
}
