package incident_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
				assert.Equal(t, http.StatusServiceUnavailable, get(d, "/healthz").Code)
				assert.Contains(t, get(d, "/healthz").Body.String(), "cannot be written")
				assert.Positive(t, d.Counts().JournalErrors)

				full.Store(false)
				in := <-d.ended
				synctest.Wait()
				time.Sleep(time.Minute)
				assert.Equal(t, incident.StatusResolved, in.Status)
				assert.EqualValues(t, 1, runs.Load())
				assert.Equal(t, http.StatusOK, get(d, "/healthz").Code, get(d, "/healthz").Body)
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
		assert.Equal(t, "a record cannot be written\n", get(d, "/healthz").Body.String())
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

func get(d *desk, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
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
		assert.Equal(t, http.StatusServiceUnavailable, get(d, "/healthz").Code)
		require.NoError(t, os.Remove(d.root))
		require.NoError(t, os.Rename(d.root+".away", d.root))
		assert.Equal(t, incident.StatusResolved, (<-d.ended).Status)
		d.stop()
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, incident.AgentFunc(works), nil)
		synctest.Wait()
		assert.Equal(t, "ok\n", get(d, "/healthz").Body.String())
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		require.NoError(t, d.Offer("chaos/faults", faultOf("refund")))
		<-d.ended
		synctest.Wait()
		w := get(d, "/metrics")
		assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
		text, err := io.ReadAll(w.Body)
		require.NoError(t, err)
		for _, line := range []string{
			"shakedown_incident_events_received_total 2", `shakedown_incident_events_total{fate="duplicate"} 1`,
			`shakedown_incident_ended_total{status="resolved"} 1`, `shakedown_incident_messages_total{fate="confirmed"} 1`,
			"shakedown_incident_running 0", "shakedown_incident_healthy 1",
		} {
			assert.Contains(t, string(text), line+"\n")
		}
		// By the format: a HELP and a TYPE line before the samples of each name, none twice.
		typed := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			switch fields := strings.Fields(line); {
			case strings.HasPrefix(line, "# TYPE "):
				require.Len(t, fields, 4)
				assert.False(t, typed[fields[2]], line)
				assert.Equal(t, strings.HasSuffix(fields[2], "_total"), fields[3] == "counter", line)
				typed[fields[2]] = true
			case !strings.HasPrefix(line, "#"):
				name, _, _ := strings.Cut(fields[0], "{")
				assert.True(t, typed[name], line)
				assert.Regexp(t, `^[a-z_]+(\{[a-z]+="[a-z_]+"\})? \d+\n$`, line)
			}
		}
		d.stop()
		assert.Equal(t, "the runner does not run\n", get(d, "/healthz").Body.String())
		assert.Equal(t, http.StatusNotFound, get(d, "/").Code)
	})
}
