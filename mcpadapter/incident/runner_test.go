package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

const goodReport = "# Investigation\n\n## Root Cause\n\nThe tool refund answered with errors.\n\nConfidence: high\n\n" +
	"Evidence: 40 of 40 calls failed between 12:00 and 12:01, no other tool was affected.\n"

func writeReport(job incident.Job, text string) error {
	return os.WriteFile(filepath.Join(job.Dir, incident.ReportFile), []byte(text), 0o600)
}

// works takes a second and leaves a good report.
func works(ctx context.Context, job incident.Job) error {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return writeReport(job, goodReport)
}

type told struct{ incidents chan incident.Incident }

func (n told) Notify(_ context.Context, in incident.Incident, _ incident.Finding) error {
	n.incidents <- in
	return nil
}

// hasty is a file system that synchronises nothing, since no machine crashes in tests.
type hasty struct{ durable.OS }

func (h hasty) Open(dir *os.Root, name string, flag int) (durable.File, error) {
	f, err := h.OS.Open(dir, name, flag)
	return hastyFile{f}, err
}

func (hasty) SyncDir(*os.Root) error { return nil }

type hastyFile struct{ durable.File }

func (hastyFile) Sync() error { return nil }

// desk is a runner under test, with the incidents that it announces.
type desk struct {
	*incident.Runner
	spaces *incident.Workspaces
	root   string
	ended  chan incident.Incident
	stop   func() // ends the run and waits for it
}

func open(t *testing.T, agent incident.Agent, change func(*incident.Options)) *desk {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "incidents"), agent, change)
}

// again is the runner that comes after d, on the same root.
func (d *desk) again(t *testing.T, agent incident.Agent, change func(*incident.Options)) *desk {
	t.Helper()
	return openAt(t, d.root, agent, change)
}

func openAt(t *testing.T, root string, agent incident.Agent, change func(*incident.Options)) *desk {
	t.Helper()
	spaces, err := incident.NewWorkspaces(root)
	require.NoError(t, err)
	spaces.OnFS(hasty{})
	d := &desk{spaces: spaces, root: root, ended: make(chan incident.Incident, 20_000)}
	o := incident.Options{Workspaces: spaces, Agent: agent, Notifier: told{d.ended}}
	if change != nil {
		change(&o)
	}
	d.Runner, err = incident.NewRunner(&o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	d.stop = func() {
		cancel()
		assert.NoError(t, <-done)
	}
	return d
}

// investigated offers one event to a runner, and returns it after its end, with the incident that became of the event.
func investigated(t *testing.T, agent incident.Agent, event json.RawMessage, change func(*incident.Options)) (*desk, incident.Incident) {
	t.Helper()
	d := open(t, agent, change)
	require.NoError(t, d.Offer("chaos/faults", event))
	in := <-d.ended
	d.stop()
	return d, in
}

func faultOf(name string) json.RawMessage {
	return fmt.Appendf(nil, `{"faultType":"error","severity":"warning","cluster":"shop","resource":{"kind":"Tool","name":%q}}`, name)
}

func TestAnIncidentFromEventToReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC()
		d, in := investigated(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
			doc, err := os.ReadFile(filepath.Join(job.Dir, incident.RecordFile))
			if err != nil {
				return err
			}
			var in incident.Incident
			assert.NoError(t, json.Unmarshal(doc, &in), "the record is written before the agent starts")
			assert.Equal(t, incident.StatusInvestigating, in.Status)
			assert.Equal(t, began, *in.StartedAt)
			assert.Equal(t, 300*time.Second, job.Timeout)
			return works(ctx, job)
		}), json.RawMessage(flatPayload), nil)

		assert.Equal(t, incident.StatusResolved, in.Status)
		assert.Equal(t, began, in.CreatedAt)
		assert.Equal(t, began.Add(time.Second), *in.CompletedAt)
		assert.Zero(t, *in.ExitCode)
		assert.Empty(t, in.FailureReason)
		assert.Equal(t, "prod payments Pod worker-0 CrashLoop CRITICAL exit status 2", strings.Join([]string{in.Cluster, in.Namespace,
			in.Resource.Kind, in.Resource.Name, in.FaultType, in.Severity.String(), in.Context}, " "))
		assert.NotEqual(t, in.IncidentID, in.TriggeringEventID)

		stored, err := d.spaces.Load()
		require.NoError(t, err)
		assert.Equal(t, []incident.Incident{in}, stored, "what stands in incident.json")
		entries, err := os.ReadDir(d.spaces.Dir(in.IncidentID))
		require.NoError(t, err)
		require.Len(t, entries, 2, "the record and the report, nothing else")
		if runtime.GOOS != "windows" {
			for path, mode := range map[string]os.FileMode{"": 0o700, incident.RecordFile: 0o600} {
				info, err := os.Stat(filepath.Join(d.spaces.Dir(in.IncidentID), path))
				require.NoError(t, err)
				assert.Equal(t, mode, info.Mode().Perm(), path)
			}
		}
		assert.Equal(t, incident.Counts{Received: 1, Resolved: 1, Notified: 1}, d.Counts())
	})
}

func TestHowIncidentsEnd(t *testing.T) {
	reports := func(text string) func(context.Context, incident.Job) error {
		return func(_ context.Context, job incident.Job) error { return writeReport(job, text) }
	}
	for name, tc := range map[string]struct {
		agent  func(ctx context.Context, job incident.Job) error
		status incident.Status
		code   int
		reason string
	}{
		"an error":                       {func(context.Context, incident.Job) error { return errors.New("no model") }, incident.StatusFailed, -1, "no model"},
		"a panic":                        {func(context.Context, incident.Job) error { panic("oh") }, incident.StatusFailed, -1, "the agent panicked: oh"},
		"the end of its thread":          {func(context.Context, incident.Job) error { runtime.Goexit(); return nil }, incident.StatusFailed, -1, "the agent ended its goroutine"},
		"no report":                      {func(context.Context, incident.Job) error { return nil }, incident.StatusAgentFailed, 0, "report missing: output/investigation.md"},
		"a report of 100 bytes":          {reports(strings.Repeat("x", 100)), incident.StatusResolved, 0, ""},
		"of 100 bytes with its line end": {reports(strings.Repeat("x", 99) + "\n"), incident.StatusResolved, 0, ""},
		"of 99 bytes":                    {reports(strings.Repeat("x", 99)), incident.StatusAgentFailed, 0, "report too small: 99 bytes, at least 100 are needed"},
		"of padding":                     {reports("done\n" + strings.Repeat(" ", 200)), incident.StatusAgentFailed, 0, "report too small: 4 bytes, at least 100 are needed"},
		"of line ends":                   {reports(strings.Repeat("\n", 200)), incident.StatusAgentFailed, 0, "report too small: 1 bytes, at least 100 are needed"},
		"of no bytes":                    {reports(""), incident.StatusAgentFailed, 0, "report too small: 0 bytes, at least 100 are needed"},
		"of bytes that are no text":      {reports(strings.Repeat("\xff\x00", 100)), incident.StatusAgentFailed, 0, "report unreadable: not text in UTF-8"},
		"a directory": {func(_ context.Context, job incident.Job) error {
			return os.Mkdir(filepath.Join(job.Dir, incident.ReportFile), 0o700)
		}, incident.StatusAgentFailed, 0, "report unreadable: output/investigation.md: it is a directory, not a regular file"},
		"a report without end": {func(_ context.Context, job incident.Job) error {
			f, err := os.Create(filepath.Join(job.Dir, incident.ReportFile))
			return errors.Join(err, f.Truncate(1<<30), f.Close())
		}, incident.StatusAgentFailed, 0, "report unreadable: output/investigation.md: it has more than the 1048576 bytes that are read"},
		"no workspace any more": {func(_ context.Context, job incident.Job) error { return os.RemoveAll(job.Dir) },
			incident.StatusAgentFailed, 0, "report missing: the workspace is gone"},
		"a record overwritten by a directory": {func(_ context.Context, job incident.Job) error {
			record := filepath.Join(job.Dir, incident.RecordFile)
			return errors.Join(os.Remove(record), os.MkdirAll(filepath.Join(record, "x"), 0o700), writeReport(job, goodReport))
		}, incident.StatusResolved, 0, ""},
		"time out": {func(ctx context.Context, _ incident.Job) error { <-ctx.Done(); return context.Cause(ctx) },
			incident.StatusFailed, -1, "the agent ran into its timeout"},
		"no end at all": {func(ctx context.Context, _ incident.Job) error { time.Sleep(24 * time.Hour); return nil },
			incident.StatusFailed, -1, "the agent ran into its timeout, and the agent was left behind because it did not stop"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, in := investigated(t, incident.AgentFunc(tc.agent), faultOf("refund"), nil)
				assert.Equal(t, tc.status, in.Status)
				assert.Equal(t, tc.reason, in.FailureReason)
				assert.Equal(t, tc.code, *in.ExitCode)
				stored, err := d.spaces.Load()
				require.NoError(t, err)
				assert.Equal(t, []incident.Incident{in}, stored, "nothing is lost")
				entries, err := os.ReadDir(filepath.Dir(d.root))
				require.NoError(t, err)
				assert.Len(t, entries, 1, "nothing escapes the root")
				time.Sleep(25 * time.Hour) // the one that was left behind
			})
		})
	}
}

func TestLinksLeadNowhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte(goodReport), 0o600))
	for name, agent := range map[string]func(job incident.Job) error{
		"the report": func(job incident.Job) error {
			return os.Symlink(outside, filepath.Join(job.Dir, incident.ReportFile))
		},
		"its folder": func(job incident.Job) error {
			folder := filepath.Join(job.Dir, "output")
			return errors.Join(os.Remove(folder), os.Symlink(filepath.Dir(outside), folder),
				os.Rename(outside, filepath.Join(filepath.Dir(outside), "investigation.md")))
		},
		"the record": func(job incident.Job) error {
			record := filepath.Join(job.Dir, incident.RecordFile)
			return errors.Join(os.Remove(record), os.Symlink(filepath.Join(filepath.Dir(outside), "investigation.md"), record))
		},
		"the workspace": func(job incident.Job) error {
			return errors.Join(os.RemoveAll(job.Dir), os.Symlink(filepath.Dir(outside), job.Dir))
		},
	} {
		d, in := investigated(t, incident.AgentFunc(func(_ context.Context, job incident.Job) error { return agent(job) }), faultOf(name), nil)
		assert.Equal(t, incident.StatusAgentFailed, in.Status, name)
		stored, err := d.spaces.Load()
		require.NoError(t, err, name)
		assert.Equal(t, []incident.Incident{in}, stored, name)
	}
	kept, err := os.ReadFile(filepath.Join(filepath.Dir(outside), "investigation.md"))
	require.NoError(t, err)
	assert.Equal(t, goodReport, string(kept), "what a link pointed to is as it was")
	entries, err := os.ReadDir(filepath.Dir(outside))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing was written beside it")
}

func TestWhichEventsBecomeIncidents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(works), func(o *incident.Options) { o.MinSeverity = incident.Error })
		offer := func(severity, name, reason string) {
			require.NoError(t, d.Offer("chaos/faults", fmt.Appendf(nil,
				`{"faultType":%q,"severity":%q,"resource":{"kind":"Tool","name":%q}}`, reason, severity, name)))
		}
		offer("warning", "refund", "error")
		offer("error", "refund", "error")
		offer("critical", "refund", "error") // the severity is not what makes it another
		offer("error", "refund", "latency")
		offer("error", "orders", "error")
		assert.Error(t, d.Offer("chaos/faults", json.RawMessage(`{}`)))
		synctest.Wait()
		assert.Equal(t, incident.Counts{Received: 6, Malformed: 1, Filtered: 1, Duplicate: 1, Running: 3}, d.Counts())
		time.Sleep(299 * time.Second)
		offer("error", "refund", "error")
		time.Sleep(time.Second)
		offer("error", "refund", "error") // 300 s after the first
		time.Sleep(2 * time.Second)
		d.stop()
		assert.Equal(t, incident.Counts{Received: 8, Malformed: 1, Filtered: 1, Duplicate: 2, Resolved: 4, Notified: 4}, d.Counts())
		assert.NoError(t, d.Offer("chaos/faults", faultOf("late")))
		assert.EqualValues(t, 1, d.Counts().Refused, "after the shutdown")
	})
}

func TestADuplicateOfWhatIsUnderInvestigation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := open(t, incident.AgentFunc(func(context.Context, incident.Job) error { <-release; return nil }),
			func(o *incident.Options) { o.Timeout = 24 * time.Hour })
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		time.Sleep(time.Hour)
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		assert.EqualValues(t, 1, d.Counts().Duplicate, "long after the window, while its agent runs")
		close(release)
		<-d.ended
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		<-d.ended
		d.stop()
	})
}

// TestAHundredIncidents take 20 s at five at once, when each takes one.
func TestAHundredIncidents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		d := open(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return works(ctx, job)
		}), nil)
		began := time.Now()
		for i := range 100 {
			require.NoError(t, d.Offer("chaos/faults", faultOf(fmt.Sprint("tool-", i))))
		}
		for range 100 {
			<-d.ended
		}
		assert.Equal(t, 20*time.Second, time.Since(began))
		assert.EqualValues(t, 5, most.Load())
		d.stop()
		assert.Equal(t, incident.Counts{Received: 100, Resolved: 100, Notified: 100}, d.Counts())
	})
}

// TestABurst offers 10,000 events at once: none blocks, and each is counted.
func TestABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(works), func(o *incident.Options) { o.QueueSize = 50 })
		began := time.Now()
		for i := range 10_000 {
			payload := faultOf(fmt.Sprint("tool-", i%2_000))
			if i%10 == 0 {
				payload = json.RawMessage(`{"faultType":"x","severity":"info"}`)
			}
			require.NoError(t, d.Offer("chaos/faults", payload))
		}
		assert.Zero(t, time.Since(began), "no sender waits")
		synctest.Wait()
		time.Sleep(time.Minute)
		d.stop()
		c := d.Counts()
		assert.EqualValues(t, 10_000, c.Received)
		assert.EqualValues(t, 1_000, c.Filtered)
		assert.Positive(t, c.Dropped)
		assert.Equal(t, c.Received, c.Filtered+c.Duplicate+c.Dropped+c.Resolved)
		assert.GreaterOrEqual(t, c.Resolved, uint64(50), "what waited in the queue")
	})
}

func TestTheOldestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := open(t, incident.AgentFunc(func(context.Context, incident.Job) error { <-release; return nil }), func(o *incident.Options) {
			o.MaxAgents, o.QueueSize = 1, 2
		})
		for _, name := range []string{"running", "a", "b", "c", "a"} {
			require.NoError(t, d.Offer("chaos/faults", faultOf(name)))
			synctest.Wait()
		}
		assert.Equal(t, incident.Counts{Received: 5, Dropped: 2, Queued: 2, Running: 1}, d.Counts(), "a made room, and was news again")
		close(release)
		for _, want := range []string{"running", "c", "a"} {
			assert.Equal(t, want, (<-d.ended).Resource.Name)
		}
		d.stop()
	})
}
