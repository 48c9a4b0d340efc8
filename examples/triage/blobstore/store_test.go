package blobstore_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/shakedown-go/shakedown/examples/triage/blobstore"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

var _ incident.Store = (*blobstore.Store)(nil)

// buckets are those that need no account.
func buckets(t *testing.T) map[string]*blob.Bucket {
	t.Helper()
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	require.NoError(t, err)
	return map[string]*blob.Bucket{"in memory": memblob.OpenBucket(nil), "files": files}
}

func record(id string, status incident.Status, at int) incident.Incident {
	return incident.Incident{IncidentID: id, Status: status, Severity: incident.Error, CreatedAt: time.Date(2026, 3, 1, 12, 0, at, 0, time.UTC)}
}

// kept is the record that a bucket has of an incident.
func kept(t *testing.T, bucket *blob.Bucket, id string) (in incident.Incident) {
	t.Helper()
	doc, err := bucket.ReadAll(t.Context(), id+"/"+incident.RecordFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(doc, &in))
	return in
}

func TestStore(t *testing.T) {
	for name, bucket := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			s := blobstore.New(t.Context(), bucket)
			later, first := record("b", incident.StatusInvestigating, 2), record("a", incident.StatusInvestigating, 1)
			require.NoError(t, s.Save(later, nil))
			require.NoError(t, s.Save(first, nil))
			first.Status = incident.StatusResolved
			require.NoError(t, s.Save(first, []byte("# Investigation\n")))
			assert.Equal(t, first, kept(t, bucket, "a"), "as last saved")
			assert.Equal(t, later, kept(t, bucket, "b"))
			report, err := bucket.ReadAll(t.Context(), "a/output/investigation.md")
			require.NoError(t, err)
			assert.Equal(t, "# Investigation\n", string(report))
			exists, err := bucket.Exists(t.Context(), "b/output/investigation.md")
			require.NoError(t, err)
			assert.False(t, exists)

			for _, id := range []string{"", "..", ".", "a/b", `a\b`} {
				assert.ErrorContains(t, s.Save(incident.Incident{IncidentID: id}, nil), "incidentId is", id)
			}
			require.NoError(t, s.Close())
			assert.Error(t, s.Save(first, nil), "after the end")
		})
	}
}

// TestWithARunner sends an event through a runner with this store.
func TestWithARunner(t *testing.T) {
	dir := t.TempDir()
	s, err := blobstore.Open(t.Context(), "file://"+filepath.ToSlash(dir)+"?metadata=skip")
	require.NoError(t, err)
	spaces, err := incident.NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	report := "# Investigation\n\n## Root Cause\n\nThe tool refund answered with errors; nothing else was affected by that, as far as is known.\n"
	ended := make(notified, 1)
	r, err := incident.NewRunner(&incident.Options{Workspaces: spaces, Store: s, Notifier: ended, Agent: incident.AgentFunc(func(_ context.Context, job incident.Job) error {
		return os.WriteFile(filepath.Join(job.Dir, incident.ReportFile), []byte(report), 0o600)
	})})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.NoError(t, r.Offer("chaos/resource-faults", []byte(`{"faultType":"error","severity":"error"}`)))
	in := <-ended
	stop()
	require.NoError(t, <-done)
	text, err := os.ReadFile(filepath.Join(dir, in.IncidentID, "output", "investigation.md"))
	require.NoError(t, err)
	assert.Equal(t, report, string(text))
	require.NoError(t, s.Close())
}

type notified chan incident.Incident

func (n notified) Notify(_ context.Context, in incident.Incident, _ incident.Finding) error {
	n <- in
	return nil
}

func TestOpen(t *testing.T) {
	_, err := blobstore.Open(t.Context(), "ftp://bucket")
	assert.ErrorContains(t, err, `STORAGE_URL`)
	s, err := blobstore.Open(t.Context(), "mem://")
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
