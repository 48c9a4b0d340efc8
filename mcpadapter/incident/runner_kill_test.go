//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// mortal is a file system that kills its process at the n-th step: before a
// change, or in the middle of a write.
type mortal struct {
	durable.OS
	left *atomic.Int64
}

func (m mortal) step() {
	if m.left.Add(-1) == 0 {
		die()
	}
}

// die ends the process as kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (m mortal) Open(dir *os.Root, name string, flag int) (durable.File, error) {
	m.step()
	if os.Getenv(diesAtRecord) != "" && strings.Contains(name, incident.RecordFile) {
		die()
	}
	f, err := m.OS.Open(dir, name, flag)
	return mortalFile{f, m}, err
}

func (m mortal) Rename(dir *os.Root, from, to string) error {
	m.step()
	return m.OS.Rename(dir, from, to)
}

func (m mortal) SyncDir(*os.Root) error {
	m.step()
	return nil
}

type mortalFile struct {
	durable.File
	m mortal
}

func (f mortalFile) Write(p []byte) (int, error) {
	f.m.step()
	if f.m.left.Add(-1) == 0 {
		_, _ = f.File.Write(p[:len(p)/2])
		die()
	}
	return f.File.Write(p)
}

// Sync is a step, and does nothing: what was written survives the process.
func (f mortalFile) Sync() error {
	f.m.step()
	return nil
}

// paper records the outside effects of a run, in files that each step appends to.
type paper string

func (p paper) note(name, line string) {
	f, err := os.OpenFile(filepath.Join(string(p), name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		_ = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func (p paper) lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(p), name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.Fields(string(text))
}

// receiver notes each message that it confirms.
type receiver struct {
	paper
	mortal
}

func (r receiver) Notify(_ context.Context, in incident.Incident, _ incident.Finding) error {
	r.step() // before it is sent
	r.note("received", in.IncidentID)
	r.step() // it was confirmed, and that was not written down
	return nil
}

// runToTheEnd is a runner in a process of its own: DIRECTORY STEP EVENTS. It
// offers the events, works until nothing is left to do, and is killed at the step.
func runToTheEnd(args []string) int {
	world := paper(args[0])
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return 2
	}
	m := mortal{left: new(atomic.Int64)}
	m.left.Store(int64(n)) // 0: never
	spaces, err := incident.NewWorkspaces(filepath.Join(args[0], "incidents"))
	if err != nil {
		return 2
	}
	spaces.OnFS(m)
	log, err := os.OpenFile(filepath.Join(args[0], "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 2
	}
	agent := &incident.Command{Path: []string{"sh", filepath.Join(args[0], "agent.sh")}}
	r, err := incident.NewRunner(&incident.Options{
		Workspaces: spaces, Notifier: receiver{world, m}, MaxAgents: 2, Log: slog.New(slog.NewTextHandler(log, nil)), Agent: agent,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for _, name := range args[2:] {
		if r.Offer("chaos/faults", faultOf(name)) == nil && r.Counts().Dropped == 0 {
			world.note("acknowledged", name)
		}
	}
	for c := r.Counts(); c.Queued+c.Running+c.Interrupted+c.Unsent > 0; c = r.Counts() {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		return 4
	}
	if m.left.Load() > 0 {
		return 5 // there are no more steps
	}
	return 0
}

// diesAtRecord is the variable that kills such a runner before it writes the record
// of an incident, after which its agent would start.
const diesAtRecord = "TEST_RUNNER_DIES_AT_RECORD"

const noMoreSteps = 5

// startRunner starts one of those and says how it ended.
func startRunner(t *testing.T, dir string, step int, events ...string) (status int, killed bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{asRunner, dir, strconv.Itoa(step)}, events...)...)
	out, err := cmd.CombinedOutput()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return -1, ws.Signal() == syscall.SIGKILL
	}
	if s := ws.ExitStatus(); s != 0 && s != noMoreSteps {
		require.NoError(t, err, string(out))
	}
	return ws.ExitStatus(), false
}

// newWorld has an agent that notes when it begins and, with its report written,
// when it is about to end well.
func newWorld(t *testing.T) (paper, string) {
	t.Helper()
	dir := t.TempDir()
	report := strings.ReplaceAll(goodReport, "\n", `\n`)
	text := fmt.Sprintf("echo $INCIDENT_ID >>%[1]s/begun\nprintf '%[2]s' >output/investigation.md\necho $INCIDENT_ID >>%[1]s/finished\n", dir, report)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(text), 0o600))
	return paper(dir), dir
}

// TestKilledAtEveryStep kills a runner at each of its writes, synchronisations
// and renames in turn, and in the middle of each write; at every third of them
// unless the variable SHAKEDOWN_DEEP is set, as .ci/run does under the race
// detector. Then it kills the next runner at some other step, and lets a third one
// finish. Whatever the moment:
//
//   - an event that was acknowledged has an incident, and one that was offered
//     has no two;
//   - an agent runs again only where its runner died before its end was written down;
//   - every incident ends with its record and its report;
//   - no message comes twice, and one that did not come is marked as maybe sent.
func TestKilledAtEveryStep(t *testing.T) {
	const shares = 2
	stride := 3 * shares
	switch {
	case testing.Short():
		stride = 7 * shares
	case os.Getenv("SHAKEDOWN_DEEP") != "":
		stride = shares
	}
	for first := range shares {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			step := 1 + first*stride/shares
			for ; !killedAt(t, step); step += stride {
				require.Less(t, step, 2000, "a run has an end")
			}
			assert.Greater(t, step, 60, "a run has its steps")
		})
	}
}

// killedAt reports whether the run had ended before the step.
func killedAt(t *testing.T, step int) (over bool) {
	world, dir := newWorld(t)
	status, killed := startRunner(t, dir, step, "a", "b", "a")
	over = status == noMoreSteps
	if !over {
		require.True(t, killed, "step %d: status %d", step, status)
		startRunner(t, dir, 1+step*7%23) // may end before that
	}
	startRunner(t, dir, 0)
	say := func(what string) string { return fmt.Sprintf("killed at step %d: %s", step, what) }

	spaces, err := incident.NewWorkspaces(filepath.Join(dir, "incidents"))
	require.NoError(t, err)
	incidents, err := spaces.Load()
	require.NoError(t, err, say("every workspace has a record"))
	names := map[string]int{}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	received, begun := count(world.lines(t, "received")), count(world.lines(t, "begun"))
	for _, in := range incidents {
		names[in.Resource.Name]++
		assert.Equal(t, incident.StatusResolved, in.Status, say("%s"), in.FailureReason)
		assert.Contains(t, []int{1, 2, 3}, begun[in.IncidentID], say("at most once a runner"))
		assert.FileExists(t, filepath.Join(spaces.Dir(in.IncidentID), incident.ReportFile))
		maybe := strings.Contains(string(log), `msg="maybe sent: the runner died while it announced the incident" incident=`+in.IncidentID)
		assert.LessOrEqual(t, received[in.IncidentID], 1, say("no message comes twice"))
		assert.True(t, received[in.IncidentID] == 1 || maybe, say("a message came, or is marked"))
	}
	assert.Len(t, begun, len(incidents), say("no incident without a record"))
	for name, n := range names {
		assert.Equal(t, 1, n, say("like events are one: "+name))
	}
	for _, name := range world.lines(t, "acknowledged") {
		assert.Equal(t, 1, names[name], say("what was acknowledged is not lost: "+name))
	}
	return over
}

func count(words []string) map[string]int {
	n := make(map[string]int)
	for _, w := range words {
		n[w]++
	}
	return n
}

// An incident whose runner died three times during it fails. A death counts only if the agent
// ran: nobody looked into an incident whose runners died before.
func TestACrashingRunnerGivesUp(t *testing.T) {
	for _, row := range []struct {
		beforeTheAgent          string
		deaths, begun, finished int
		status                  incident.Status
		reason                  string
	}{
		{"", 3, 3, 0, incident.StatusFailed, "the runner died 3 times while the agent was running"},
		{"1", 4, 1, 1, incident.StatusResolved, ""},
	} {
		world, dir := newWorld(t)
		if row.beforeTheAgent == "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte("echo x >>"+dir+"/begun; sleep 0.1; kill -KILL $PPID; sleep 600"), 0o600))
		}
		t.Setenv(diesAtRecord, row.beforeTheAgent)
		for i := range row.deaths {
			_, killed := startRunner(t, dir, 0, []string{"a"}[:max(0, 1-i)]...)
			require.True(t, killed, i)
		}
		t.Setenv(diesAtRecord, "")
		startRunner(t, dir, 0)
		assert.Len(t, world.lines(t, "begun"), row.begun)
		assert.Len(t, world.lines(t, "finished"), row.finished)
		in := onlyIncident(t, dir)
		assert.Equal(t, []any{row.status, row.reason}, []any{in.Status, in.FailureReason})
	}
}

// onlyIncident is the one of a world.
func onlyIncident(t *testing.T, dir string) incident.Incident {
	t.Helper()
	spaces, err := incident.NewWorkspaces(filepath.Join(dir, "incidents"))
	require.NoError(t, err)
	found, err := spaces.Load()
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// A named pipe in the place of the journal must not keep the start waiting.
func TestAPipeIsNoJournal(t *testing.T) {
	spaces, err := incident.NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(spaces.Dir(".runner"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(spaces.Dir(".runner"), "journal"), 0o600))
	_, err = incident.NewRunner(&incident.Options{Workspaces: spaces, Agent: incident.AgentFunc(works)})
	assert.ErrorContains(t, err, "journal is p---------; allowed: a regular file")
}

func TestASecondRunnerIsRefused(t *testing.T) {
	d := open(t, incident.AgentFunc(works), nil)
	_, err := incident.NewRunner(&incident.Options{Workspaces: d.spaces, Agent: incident.AgentFunc(works)})
	var locked *incident.LockedError
	require.ErrorAs(t, err, &locked)
	assert.ErrorContains(t, err, " is held by another runner; allowed: one runner at a time")
	d.stop()
	r, err := incident.NewRunner(&incident.Options{Workspaces: d.spaces, Agent: incident.AgentFunc(works)})
	require.NoError(t, err, "after the first has ended")
	require.NoError(t, r.Close())
	r, err = incident.NewRunner(&incident.Options{Workspaces: d.spaces, Agent: incident.AgentFunc(works)})
	require.NoError(t, err, "Close gives it back too")
	require.NoError(t, r.Close())
	assert.NoError(t, r.Close())
	assert.ErrorContains(t, r.Run(context.Background()), "run before")
}

func TestAJournalOfALaterVersionIsNotGuessedAt(t *testing.T) {
	spaces, err := incident.NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(spaces.Dir("x"), "..", ".runner")
	require.NoError(t, os.MkdirAll(path, 0o700))
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	defer dir.Close()
	j, _, _, err := durable.OpenJournal(durable.OS{}, dir, "journal")
	require.NoError(t, err)
	for _, record := range []string{`{"op":"teleported"}`, `{"op":"queued"}`, `[]`, `{"op":"begun","incident":"x","eventId":"y"}`, `{"op":"finished","incident":"x"}`} {
		require.True(t, json.Valid([]byte(record)))
		require.NoError(t, j.Rewrite([][]byte{[]byte(record)}))
		_, err = incident.NewRunner(&incident.Options{Workspaces: spaces, Agent: incident.AgentFunc(works)})
		assert.ErrorContains(t, err, "record 1 of the journal", record)
	}
	require.NoError(t, j.Close())
}
