package incident_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// fillable is a file system with no room while it is full: a write then writes
// what would still fit, and fails.
type fillable struct {
	hasty
	full *atomic.Bool
	only string // files whose names have this in them; "": all
}

func (f fillable) Open(dir *os.Root, name string, flag int) (durable.File, error) {
	file, err := f.hasty.Open(dir, name, flag)
	if !strings.Contains(name, f.only) {
		return file, err
	}
	return fillableFile{file, f.full}, err
}

type fillableFile struct {
	durable.File
	full *atomic.Bool
}

func (f fillableFile) Write(p []byte) (int, error) {
	if f.full.Load() {
		n, _ := f.File.Write(p[:len(p)/3])
		return n, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// onDisk is a change of options that puts the runner's files on such a disk.
func onDisk(full *atomic.Bool) func(o *incident.Options) {
	return func(o *incident.Options) { o.Workspaces.OnFS(fillable{full: full}) }
}

// Whenever the disk fills up, no message says more than the record does. All
// messages are sent when there is room again.
func TestAFullDisk(t *testing.T) {
	for name, fillAt := range map[string]time.Duration{
		"before the event":      0,
		"while the agent works": 500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var full atomic.Bool
				var runs atomic.Int64
				d := open(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
					runs.Add(1)
					return works(ctx, job)
				}), onDisk(&full))
				if fillAt == 0 {
					full.Store(true)
					err := d.Offer("chaos/faults", faultOf("refund"))
					assert.ErrorIs(t, err, syscall.ENOSPC, "it is taken, and its sender learns that it could be lost")
					assert.ErrorContains(t, err, "the event is in memory alone")
				} else {
					require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
					time.Sleep(fillAt)
					full.Store(true)
				}
				time.Sleep(10 * time.Minute)
				assert.Empty(t, d.ended, "nobody is told")
				assert.Equal(t, fillAt > 0, runs.Load() == 1, "no agent without a record")
				found, _ := d.spaces.Load()
				for _, in := range found {
					assert.Equal(t, incident.StatusInvestigating, in.Status)
				}
				assert.Positive(t, d.Counts().JournalErrors)

				full.Store(false)
				in := <-d.ended
				synctest.Wait()
				time.Sleep(time.Minute)
				assert.Equal(t, incident.StatusResolved, in.Status)
				assert.EqualValues(t, 1, runs.Load())
				d.stop()
				found, err := d.spaces.Load()
				require.NoError(t, err)
				assert.Equal(t, []incident.Incident{in}, found)
				assert.EqualValues(t, 1, d.Counts().Notified)
			})
		})
	}
}

// The journal can be written and the record cannot: no message reports an end that
// the record does not have.
func TestARecordThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		d := open(t, incident.AgentFunc(works), func(o *incident.Options) {
			o.Workspaces.OnFS(fillable{full: &full, only: incident.RecordFile})
		})
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		time.Sleep(500 * time.Millisecond)
		full.Store(true)
		time.Sleep(10 * time.Minute)
		assert.Empty(t, d.ended)
		d.stop()
		assert.EqualValues(t, 1, d.Counts().Interrupted, "it is left to the next runner")

		full.Store(false)
		runs := 0
		d = d.again(t, incident.AgentFunc(func(context.Context, incident.Job) error { runs++; return nil }), nil)
		in := <-d.ended
		d.stop()
		assert.Equal(t, incident.StatusResolved, in.Status, "the agent had ended well, and counts")
		assert.Zero(t, runs)
		found, err := d.spaces.Load()
		require.NoError(t, err)
		assert.Equal(t, []incident.Incident{in}, found)
	})
}

// TestARestartOnAFullDisk: what the first runner could write is what the second
// takes up, and a runner starts on a full disk.
func TestARestartOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		idle := incident.AgentFunc(func(ctx context.Context, _ incident.Job) error { <-ctx.Done(); return context.Cause(ctx) })
		d := open(t, idle, onDisk(&full))
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		synctest.Wait()
		full.Store(true)
		d.stop()
		assert.EqualValues(t, 1, d.Counts().Interrupted)
		d = d.again(t, incident.AgentFunc(works), onDisk(&full))
		time.Sleep(time.Hour)
		assert.Empty(t, d.ended)
		full.Store(false)
		assert.Equal(t, incident.StatusResolved, (<-d.ended).Status)
		d.stop()
	})
}

// TestWhatARestartTakesUp: the queue in its order, the keys of the
// deduplication, and incidents that were interrupted, in the workspace they had.
func TestWhatARestartTakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
			_ = writeReport(job, "half of "+goodReport) // it would be good enough
			<-ctx.Done()
			return context.Cause(ctx)
		}), func(o *incident.Options) { o.MaxAgents = 1 })
		for _, name := range []string{"running", "a", "b"} {
			require.NoError(t, d.Offer("chaos/faults", faultOf(name)))
			synctest.Wait()
		}
		d.stop()
		interrupted, err := d.spaces.Load()
		require.NoError(t, err)
		require.Len(t, interrupted, 1)
		assert.Equal(t, incident.StatusInterrupted, interrupted[0].Status)
		assert.Equal(t, incident.Counts{Received: 3, Queued: 2, Interrupted: 1}, d.Counts())

		time.Sleep(200 * time.Second)
		attempts := 0
		d = d.again(t, incident.AgentFunc(func(ctx context.Context, job incident.Job) error {
			if attempts++; attempts == 1 {
				assert.Equal(t, interrupted[0].IncidentID, job.Incident.IncidentID)
				assert.NoFileExists(t, filepath.Join(job.Dir, incident.ReportFile), "what another attempt wrote is not this one's")
				assert.FileExists(t, filepath.Join(job.Dir, "output.1", "investigation.md"), "and it is kept")
			}
			return works(ctx, job)
		}), func(o *incident.Options) { o.MaxAgents = 1 })
		for _, name := range []string{"running", "a", "b"} {
			require.NoError(t, d.Offer("chaos/faults", faultOf(name)))
		}
		assert.EqualValues(t, 3, d.Counts().Duplicate)
		for _, want := range []string{"running", "a", "b"} {
			in := <-d.ended
			assert.Equal(t, want, in.Resource.Name)
			assert.Equal(t, incident.StatusResolved, in.Status)
			assert.Equal(t, want == "running", in.IncidentID == interrupted[0].IncidentID)
		}
		synctest.Wait()
		assert.Equal(t, incident.Counts{Received: 3, Restored: 3, Duplicate: 3, Resolved: 3, Notified: 3}, d.Counts())
		d.stop()

		d = d.again(t, incident.AgentFunc(works), nil)
		assert.Zero(t, d.Counts().Restored, "nothing is left")
		require.NoError(t, d.Offer("chaos/faults", faultOf("a")))
		assert.EqualValues(t, 1, d.Counts().Duplicate, "the window goes on")
		time.Sleep(100 * time.Second)
		require.NoError(t, d.Offer("chaos/faults", faultOf("a")))
		<-d.ended
		d.stop()
	})
}

// TestASmallerQueueThanBefore drops the oldest, as a full one does.
func TestASmallerQueueThanBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle := incident.AgentFunc(func(ctx context.Context, _ incident.Job) error { <-ctx.Done(); return context.Cause(ctx) })
		d := open(t, idle, func(o *incident.Options) { o.MaxAgents = 1 })
		for _, name := range []string{"running", "a", "b", "c"} {
			require.NoError(t, d.Offer("chaos/faults", faultOf(name)))
			synctest.Wait()
		}
		d.stop()
		d = d.again(t, incident.AgentFunc(works), func(o *incident.Options) { o.MaxAgents, o.QueueSize = 1, 2 })
		for _, want := range []string{"running", "b", "c"} {
			assert.Equal(t, want, (<-d.ended).Resource.Name)
		}
		synctest.Wait()
		assert.Equal(t, incident.Counts{Restored: 4, Dropped: 1, Resolved: 3, Notified: 3}, d.Counts())
		d.stop()
	})
}

// A root that takes no workspace is counted, and waited for.
func TestARootThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(works), nil)
		require.NoError(t, os.Rename(d.root, d.root+".away"))
		require.NoError(t, os.WriteFile(d.root, nil, 0o600)) // as on a disk that can only be read
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		time.Sleep(time.Minute)
		assert.Greater(t, d.Counts().StoreErrors, uint64(2))
		require.NoError(t, os.Remove(d.root))
		require.NoError(t, os.Rename(d.root+".away", d.root))
		assert.Equal(t, incident.StatusResolved, (<-d.ended).Status)
		d.stop()
	})
}
