package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/examples/triage/internal/wire"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
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
	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "cell", Runs: runs}, &mcpadapter.Options{Audit: io.Discard,
		Getenv: func(name string) string { return map[string]string{"SHAKEDOWN_MCP_TOKEN": token}[name] }})
	if err != nil {
		return err
	}
	l := wire.Listen()
	client := l.Client()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	err = use(offline.Server{Endpoint: wire.URL, Token: token, Client: client})
	client.CloseIdleConnections()
	stop()
	return errors.Join(err, <-done)
}

// workload asks three tools of the order desk, twice a second for a minute.
func workload(ctx context.Context, tools chaos.ToolRegistry) error {
	var all []error
	for range 120 {
		for tool, args := range map[string]string{"orders.get": `{"order":"3007"}`, "customers.get": `{"customer":"C-7"}`, "mail.send": `{"customer":"C-7","body":"Hello"}`} {
			_, err := tools.CallTool(ctx, tool, json.RawMessage(args))
			all = append(all, err)
		}
		time.Sleep(time.Second / 2)
	}
	return errors.Join(all...)
}

func faulty(name, target string, f chaos.Fault) contract.Scenario {
	return contract.Scenario{Name: name, Rules: []chaos.Rule{{Name: "fault", Target: target, When: when.Between(20*time.Second, 40*time.Second), Fault: f}}}
}

// The agent knows only that something happened, and when. The fault moves from tool
// to tool, and is an error or a delay. The report has to name the faulty tool.
func TestTheReportFollowsTheFault(t *testing.T) {
	down, slow := fault.Fail(fault.ErrUnavailable), fault.Delay(200*time.Millisecond)
	report := contracttest.Run(t, &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			w, err := orderdesk.NewWorld(orderdesk.Robust())(ctx)
			if err != nil {
				return nil, err
			}
			w.Agent = detective(time.Now()) // the cell's world is made when its clock starts
			return w, nil
		},
		Prompts:    []string{"What happened?"},
		Invariants: []contract.Invariant{{Name: "finds-the-cause", Severity: contract.Critical, Check: findsTheCause}},
		Scenarios: []contract.Scenario{
			faulty("orders-down", "orders.get", down), faulty("customers-down", "customers.get", down), faulty("mail-down", "mail.send", down),
			faulty("orders-slow", "orders.get", slow), faulty("mail-slow", "mail.send", slow),
		},
		Timeout: time.Hour,
	}, nil)
	contracttest.AssertPassed(t, report)
	assert.Equal(t, 5, report.Score.Passed)
}

// detective investigates the first fault that was delivered in its cell, and answers
// with its report.
func detective(armed time.Time) contract.Agent {
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (answer string, err error) {
		_ = workload(ctx, tools) // it fails where the faults are
		events := chaos.FromContext(ctx).Events()
		first := delivered(events)[0]
		err = served(ctx, armed, events, func(s offline.Server) error {
			e := offline.Event{Reason: first.Fault, At: armed.Add(first.Start)}
			found, err := offline.Investigate(ctx, s, e, 10*time.Second)
			if err == nil {
				answer = "Armed: " + armed.Format(time.RFC3339Nano) + "\n" + string(found.Report())
			}
			return err
		})
		return answer, err
	}
}

func delivered(events []chaos.Event) (faults []chaos.Event) {
	for _, e := range events {
		if e.Delivered {
			faults = append(faults, e)
		}
	}
	return faults
}

// findsTheCause holds a report to what was injected.
func findsTheCause(_ context.Context, o *contract.Observation) error {
	faults := delivered(o.Events)
	first, last := faults[0], faults[len(faults)-1]
	line, _, _ := strings.Cut(o.Response, "\n")
	armed, err := time.Parse(time.RFC3339, strings.TrimPrefix(line, "Armed: "))
	if err != nil {
		return err
	}
	facts := offline.Stated([]byte(o.Response))
	since, _ := time.Parse(time.RFC3339, facts["Since"]) // what is not stated is far off
	until, _ := time.Parse(time.RFC3339, facts["Until"])
	if facts["Target"] != first.Target || facts["Kind"] != first.Fault ||
		since.Sub(armed.Add(first.Start)).Abs() > tolerance || until.Before(armed.Add(last.End-tolerance)) {
		return fmt.Errorf("%v; injected was %s at %s, from %v to %v after %v", facts, first.Fault, first.Target, first.Start, last.End, armed)
	}
	return nil
}

const tolerance = 3 * time.Second

// TestReportsOfEveryKind reads what is written where there is less to say.
func TestReportsOfEveryKind(t *testing.T) {
	for name, tc := range map[string]struct {
		at     time.Duration
		events []chaos.Event
		want   []string
	}{
		"nothing found": {5 * time.Second, []chaos.Event{{Target: "orders.get", Outcome: chaos.OutcomeOK, End: time.Second}},
			[]string{"No node did worse", "## Root Cause\n\nNot found.", "Confidence: low"}},
		"never recovered": {5 * time.Second, failing(5, 12), []string{"- Target: orders.get\n- Kind: error", "Still so at", "Recovery time: not yet known", "no recovery seen"}},
		"no time before":  {0, failing(0, 12), []string{"- Target: orders.get", "Confidence: medium", "0 of 0 before"}},
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
		``:                        "incident.json: EOF",
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
	assert.Equal(t, offline.Event{Namespace: "shop", Reason: "error", At: epoch}, e, "and nothing that would name the culprit")
}
