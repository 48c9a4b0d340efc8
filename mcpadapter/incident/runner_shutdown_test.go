package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// A shutdown asks agents to end at once, and ends within the grace.
func TestShutdown(t *testing.T) {
	for name, tc := range map[string]struct {
		grace  time.Duration
		deaf   bool          // to the end of its context
		takes  time.Duration // once asked to end, or in all where it ignores that
		want   time.Duration // until the runner has ended
		status incident.Status
		reason string
	}{
		"one that ends at once when it is told":    {0, false, 0, 0, incident.StatusInterrupted, "the runner was shut down"},
		"one that ends well before it is ended":    {0, true, 14 * time.Second, 14 * time.Second, incident.StatusResolved, ""},
		"one that does not end at all is left":     {8 * time.Second, true, time.Hour, 7 * time.Second, incident.StatusInterrupted, "the runner was shut down, and the agent was left behind because it did not stop"},
		"by default, within twenty seconds":        {0, true, time.Hour, 17500 * time.Millisecond, incident.StatusInterrupted, "the runner was shut down, and the agent was left behind because it did not stop"},
		"without grace, and an agent that listens": {-1, false, 0, 0, incident.StatusInterrupted, "the runner was shut down"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
					if !tc.deaf {
						<-ctx.Done()
						return context.Cause(ctx)
					}
					time.Sleep(tc.takes)
					return writeReport(job, goodReport)
				}), func(o *incident.Options) { o.MaxAgents, o.Grace = 1, tc.grace })
				require.NoError(t, d.Offer("chaos/faults", faultOf("running")))
				synctest.Wait()
				require.NoError(t, d.Offer("chaos/faults", faultOf("waiting")))
				began := time.Now()
				d.stop()
				assert.Equal(t, tc.want, time.Since(began))
				found, err := d.spaces.Load()
				require.NoError(t, err)
				require.Len(t, found, 1)
				assert.Equal(t, tc.status, found[0].Status)
				assert.Equal(t, tc.reason, found[0].FailureReason)
				assert.EqualValues(t, 1, d.Counts().Queued, "what waited is on disk")
				if tc.status == incident.StatusInterrupted {
					assert.Empty(t, d.ended, "nobody is told of what has no end")
					assert.EqualValues(t, 1, d.Counts().Interrupted)
				}
				assert.ErrorContains(t, d.Run(context.Background()), "run before")
				time.Sleep(2 * time.Hour) // the one that was left behind
			})
		})
	}
}

func TestARestartEndsWhatWasLeft(t *testing.T) {
	root := t.TempDir()
	spaces, err := incident.NewWorkspaces(root)
	require.NoError(t, err)
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	left := incident.Incident{IncidentID: "a", Status: incident.StatusInvestigating, Severity: incident.Error, CreatedAt: created, StartedAt: &created}
	done := incident.Incident{IncidentID: "b", Status: incident.StatusResolved, Severity: incident.Error, CreatedAt: created.Add(time.Second)}
	require.NoError(t, errors.Join(spaces.Save(left, nil), spaces.Save(done, nil)))
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o700))

	store := &memory{}
	r, err := incident.NewRunner(&incident.Options{Workspaces: spaces, Store: store, Agent: incident.AgentFunc(works)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, r.Run(ctx))
	after, err := spaces.Load()
	assert.ErrorContains(t, err, "workspace empty", "what cannot be read is said, and hides nothing else")
	require.Len(t, after, 2)
	assert.Equal(t, incident.StatusFailed, after[0].Status)
	assert.Equal(t, "the runner stopped while the agent was running", after[0].FailureReason)
	assert.NotNil(t, after[0].CompletedAt)
	assert.Equal(t, done, after[1])
	assert.Equal(t, []incident.Incident{after[0]}, store.saved, "other stores learn of it")
}

// memory is a store that may be down.
type memory struct {
	mu      sync.Mutex
	saved   []incident.Incident
	reports []string
	down    error
}

func (m *memory) Save(in incident.Incident, report []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved, m.reports = append(m.saved, in), append(m.reports, string(report))
	return m.down
}

func TestStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		investigated(t, incident.AgentFunc(works), faultOf("refund"), func(o *incident.Options) { o.Store = store })
		require.Len(t, store.saved, 1, "at the end")
		assert.Equal(t, incident.StatusResolved, store.saved[0].Status)
		assert.Equal(t, []string{goodReport}, store.reports)
	})
}

// TestAStoreThatIsDownCatchesUp, also by way of the next runner.
func TestAStoreThatIsDownCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{down: errors.New("bucket gone")}
		d := open(t, incident.AgentFunc(works), func(o *incident.Options) { o.Store = store })
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		in := <-d.ended
		assert.Equal(t, incident.StatusResolved, in.Status, "a store that is down is no reason to stop")
		d.stop()
		assert.EqualValues(t, len(store.saved), d.Counts().StoreErrors, "and is counted")

		store.begin(errors.New("bucket gone"))
		d = d.again(t, incident.AgentFunc(works), func(o *incident.Options) { o.Store = store })
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := store.begin(nil)
		assert.Greater(t, tries, 10, "it is tried again, first soon and then every five minutes")
		assert.Less(t, tries, 30)
		time.Sleep(5 * time.Minute)
		d.stop()
		assert.Equal(t, []incident.Incident{in}, store.saved)
		assert.Equal(t, []string{goodReport}, store.reports)
	})
}

// begin forgets what was saved, and says how often.
func (m *memory) begin(down error) (saves int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saves = len(m.saved)
	m.saved, m.reports, m.down = nil, nil, down
	return saves
}

func TestWorkspacesRefuse(t *testing.T) {
	_, err := incident.NewWorkspaces("")
	assert.EqualError(t, err, "incident: workspace root is missing; allowed: a directory")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = incident.NewWorkspaces(file)
	assert.ErrorContains(t, err, "incident: workspace root: ")

	spaces, err := incident.NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	for _, id := range []string{"", ".", "..", "../x", "a/b"} {
		assert.ErrorContains(t, spaces.Save(incident.Incident{IncidentID: id, Severity: incident.Info}, nil), "incidentId is", id)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := incident.NewRunner(&incident.Options{MaxAgents: -1, QueueSize: 1 << 30, MinSeverity: 9, Timeout: -1, SendTimeout: -1})
	for _, field := range []string{"Workspaces is missing", "Agent is missing", "MaxAgents is -1", "QueueSize is 1073741824",
		"MinSeverity is Severity(9)", "Timeout is -1", "SendTimeout is -1"} {
		assert.ErrorContains(t, err, field)
	}
	_, err = incident.NewRunner(nil)
	for _, field := range []string{"Workspaces is missing", "Agent is missing"} {
		assert.ErrorContains(t, err, field, "nil is no options, and these two are required")
	}
}

func TestIncidentJSON(t *testing.T) {
	doc, err := json.Marshal(incident.Incident{IncidentID: "a", Status: incident.StatusInvestigating, Severity: incident.Error})
	require.NoError(t, err)
	var members map[string]any
	require.NoError(t, json.Unmarshal(doc, &members))
	for _, name := range []string{"incidentId", "status", "createdAt", "startedAt", "completedAt", "exitCode", "cluster", "namespace",
		"resource", "faultType", "severity", "context", "timestamp", "triggeringEventId", "failureReason"} {
		assert.Contains(t, members, name)
	}
	assert.Nil(t, members["exitCode"], "what has not happened is null")
}
