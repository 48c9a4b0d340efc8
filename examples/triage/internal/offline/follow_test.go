package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const token = "a-token-for-the-test"

// served is a server with the timeline of some events.
func served(ctx context.Context, armed time.Time, events []chaos.Event, use func(offline.Server) error) error {
	recorder, err := trace.NewRecorder(&trace.Options{Run: timeline.RunOptions{Epoch: armed}})
	if err != nil {
		return err
	}
	for _, e := range events {
		recorder.Record(context.Background(), e)
	}
	runs, err := trace.NewRuns(nil)
	if err != nil {
		return err
	}
	if _, err := runs.Add(trace.Entry{ID: "cell", CreatedAt: armed, Timeline: recorder.Run()}); err != nil {
		return err
	}
	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "cell", Runs: runs}, &mcpadapter.Options{Policy: &policy.Options{Audit: io.Discard},
		Getenv: func(name string) string { return map[string]string{"SHAKEDOWN_MCP_TOKEN": token}[name] }})
	if err != nil {
		return err
	}
	web := chaoshttp.InProcess(srv.Handler())
	err = use(offline.Server{Endpoint: "http://localhost/mcp", Token: token, Client: &http.Client{Transport: web}})
	return errors.Join(err, srv.Shutdown(context.WithoutCancel(ctx)), web.Close())
}

// record asks three tools of the order desk twice a second for a minute, of which
// one is faulty for twenty seconds, and returns what was recorded.
func record(t *testing.T, target string) (armed time.Time, events []chaos.Event) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Name: "fault", Target: target, When: when.Between(20*time.Second, 40*time.Second),
		Fault: fault.Fail(fault.ErrUnavailable)})
	require.NoError(t, err)
	injector, armed := plan.Injector("", &chaos.InjectorOptions{RecordAll: true}), time.Now()
	world, err := orderdesk.NewWorld(orderdesk.Robust())(t.Context())
	require.NoError(t, err)
	tools := chaos.WrapRegistry(world.Tools, injector)
	for range 120 {
		for tool, args := range map[string]string{"orders.get": `{"order":"3007"}`, "customers.get": `{"customer":"C-7"}`, "mail.send": `{"customer":"C-7","body":"Hello"}`} {
			_, _ = tools.CallTool(t.Context(), tool, json.RawMessage(args)) // a failed call is an event too
		}
		time.Sleep(time.Second / 2)
	}
	require.NoError(t, world.Close())
	return armed, injector.Events()
}

// The event names neither target nor namespace. The fault moves from tool to tool.
// The report has to name the faulty tool, and when it was faulty.
func TestTheReportFollowsTheFault(t *testing.T) {
	for _, target := range []string{"orders.get", "customers.get", "mail.send"} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				armed, events := record(t, target)
				first := slices.IndexFunc(events, func(e chaos.Event) bool { return e.Delivered })
				e := offline.Event{Reason: events[first].Fault, At: armed.Add(events[first].Start)}
				require.NoError(t, served(t.Context(), armed, events, func(s offline.Server) error {
					found, err := offline.Investigate(t.Context(), s, e, 10*time.Second)
					require.NoError(t, err)
					assert.Equal(t, target, found.Culprit.Node, "%s", found.Report())
					assert.Empty(t, found.Notes)
					require.True(t, found.Settled(), "%s", found.Report())
					assert.InDelta(t, 20, found.Since().Sub(armed).Seconds(), 3)
					assert.InDelta(t, 40, found.Recovery.RecoveryTs.Sub(armed).Seconds(), 3)
					return nil
				}))
			})
		})
	}
}

// TestReportsOfEveryKind reads what is written where there is less to say.
func TestReportsOfEveryKind(t *testing.T) {
	for name, tc := range map[string]struct {
		at     time.Duration
		events []chaos.Event
		want   []string
	}{
		"nothing found": {5 * time.Second, []chaos.Event{{Target: "orders.get", Outcome: chaos.OutcomeOK, End: time.Millisecond}},
			[]string{"No calls of a node failed", "## Root Cause\n\nNot found.", "Confidence: low"}},
		"never recovered": {5 * time.Second, failing(5, 12), []string{"- Target: orders.get\n- Kind: error", "Still so at", "Recovery time: not yet known", "no recovery seen"}},
		"no time before":  {0, failing(0, 12), []string{"- Target: orders.get", "Confidence: high: no other node"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				armed, began := time.Now(), time.Now()
				require.NoError(t, served(t.Context(), armed, tc.events, func(s offline.Server) error {
					dir := t.TempDir()
					found, err := offline.Investigate(t.Context(), s, offline.Event{Reason: "error", At: armed.Add(tc.at)}, 20*time.Second)
					require.NoError(t, err)
					assert.LessOrEqual(t, time.Since(began), 21*time.Second, "it waits for a recovery, but not for ever")
					require.NoError(t, found.Write(dir))
					text, err := os.ReadFile(filepath.Join(dir, incident.ReportFile))
					require.NoError(t, err)
					assert.GreaterOrEqual(t, len(text), incident.MinReport)
					for _, want := range tc.want {
						assert.Contains(t, string(text), want)
					}
					assert.NotContains(t, string(text), "NaN")
					return nil
				}))
			})
		})
	}
}

// failing is two calls a second to one tool, which fail from a second on.
func failing(from, until int) (events []chaos.Event) {
	for i := range until * 2 {
		at := time.Duration(i) * time.Second / 2
		e := chaos.Event{Target: "orders.get", Outcome: chaos.OutcomeOK, Start: at, End: at + time.Millisecond}
		if i >= 2*from {
			e.Outcome, e.Err = chaos.OutcomeFailed, "unavailable"
		}
		events = append(events, e)
	}
	return events
}

func TestWhatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, served(t.Context(), time.Now(), nil, func(s offline.Server) error {
			_, err := offline.Investigate(t.Context(), s, offline.Event{At: time.Now().Add(-time.Hour)}, 2*time.Second)
			assert.ErrorContains(t, err, "no run that was under way")
			s.Token = "wrong"
			_, err = offline.Investigate(t.Context(), s, offline.Event{At: time.Now()}, 0)
			assert.ErrorContains(t, err, "offline: connect: ")
			assert.NotContains(t, err.Error(), "wrong")
			return nil
		}))
	})
	_, err := offline.Investigate(t.Context(), offline.Server{Endpoint: "nowhere"}, offline.Event{}, 0)
	assert.EqualError(t, err, `offline: the endpoint is "nowhere"; allowed: an http or https URL`)
}

func TestReadEvent(t *testing.T) {
	for record, want := range map[string]string{
		``:                        "incident.json: unexpected end of JSON input",
		`{"timestamp":"today"}`:   "incident.json: ",
		`{"faultType":"error"}`:   "no timestamp",
		strings.Repeat("[", 10e3): "incident.json: ",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, incident.RecordFile), []byte(record), 0o600))
		_, err := offline.ReadEvent(dir)
		assert.ErrorContains(t, err, want)
	}
	_, err := offline.ReadEvent(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, incident.RecordFile), []byte(
		`{"namespace":"shop","faultType":"error","timestamp":"2026-03-01T12:00:00Z","context":"orders.get","resource":{"name":"orders.get"}}`), 0o600))
	e, err := offline.ReadEvent(dir)
	require.NoError(t, err)
	assert.Equal(t, offline.Event{Reason: "error", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, e, "and nothing that would name the culprit")
}
