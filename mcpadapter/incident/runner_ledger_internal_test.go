package incident

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Writing a ledger as entries and applying them gives the same ledger, whatever
// happened before.
func TestALedgerIsWhatItsEntriesSay(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(time.Minute)
		var queued, open []string
		for i := range rapid.IntRange(0, 30).Draw(t, "steps") {
			at := start.Add(time.Duration(i) * time.Second)
			step := rapid.SampledFrom([]op{opQueued, opDropped, opBegun, opRunning, opFinished, opInterrupted, opEnded, opSending, opUnsent, opSettled, opStored}).Draw(t, "step")
			e := entry{Op: step, At: at}
			switch {
			case step == opQueued:
				e.Event = &event{ID: fmt.Sprint("event-", i), Reason: fmt.Sprint("reason-", i), Severity: Error, At: at}
				queued = append(queued, e.Event.ID)
			case (step == opDropped || step == opBegun) && len(queued) > 0:
				e.EventID, queued = queued[0], queued[1:]
				if step == opBegun {
					e.Incident, e.Created, e.Attempt, e.Lost = fmt.Sprint("incident-", i), at, 1, 1
					open = append(open, e.Incident)
				}
			case (step == opRunning || step == opFinished || step == opInterrupted || step == opEnded) && len(open) > 0:
				e.Incident = rapid.SampledFrom(open).Draw(t, "incident")
				e.Reason, e.Store, e.Notify = "why", i%2 == 0, i%3 == 0
				if step == opEnded {
					var rest []string
					for _, id := range open {
						if id != e.Incident {
							rest = append(rest, id)
						}
					}
					open = rest
				}
			case len(l.letters.letters) > 0:
				e.Incident = l.letters.letters[0].id
			default:
				continue
			}
			if err := l.apply(e); err != nil && step != opDropped && step != opBegun && step != opRunning && step != opFinished && step != opInterrupted {
				t.Fatal(err)
			}
		}
		var records [][]byte
		for _, e := range l.entries() {
			record, err := e.record()
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		again, _, err := replay(records, false, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%+v", texts(again)), fmt.Sprintf("%+v", texts(l)); a != b {
			t.Fatalf("read\n%s\nwas\n%s", a, b)
		}
		if len(again.seen.seen) != len(l.seen.seen) || len(again.waiting) != len(l.waiting) || len(again.cases) != len(l.cases) {
			t.Fatal("something is missing")
		}
	})
}

func texts(l *ledger) (all []string) {
	for _, e := range l.entries() {
		record, err := e.record()
		all = append(all, string(record), fmt.Sprint(err))
	}
	return all
}

// Of too many letters the oldest that was never tried is given up, and counted.
func TestTooManyLetters(t *testing.T) {
	spaces, err := NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	r, err := NewRunner(&Options{Workspaces: spaces, Agent: &Command{Path: []string{"true"}}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for i := range maxOutbox + 1 {
		r.book.letters.put(fmt.Sprint(i), time.Now(), nil)
		r.book.letters.letters[i].sending = i == 0
	}
	r.bound()
	assert.Len(t, r.book.letters.letters, maxOutbox)
	assert.NotNil(t, r.book.letters.find("0"), "somebody was asked about it")
	assert.Nil(t, r.book.letters.find("1"))
	assert.EqualValues(t, 1, r.Counts().NotifyLost)
	r.bound()
	assert.Len(t, r.book.letters.letters, maxOutbox)
}

// Without a notifier, what an earlier runner had begun to send may have arrived; the rest is lost. The log names each.
func TestLettersWithoutANotifier(t *testing.T) {
	spaces, err := NewWorkspaces(t.TempDir())
	require.NoError(t, err)
	var log strings.Builder
	o := &Options{Workspaces: spaces, Agent: &Command{Path: []string{"true"}},
		Log: slog.New(slog.NewTextHandler(&log, nil))}
	r, err := NewRunner(o)
	require.NoError(t, err)
	for _, e := range []entry{{Op: opEnded, Incident: "begun", Notify: true}, {Op: opSending, Incident: "begun"},
		{Op: opEnded, Incident: "waiting", Notify: true}} {
		require.NoError(t, r.commit(e))
	}
	require.NoError(t, r.Close())
	r, err = NewRunner(o)
	require.NoError(t, err)
	assert.Equal(t, Counts{MaybeSent: 1, NotifyLost: 1}, r.Counts())
	assert.Contains(t, log.String(), "incident=begun")
	assert.Contains(t, log.String(), "incident=waiting")
	require.NoError(t, r.Close())
	r, err = NewRunner(o)
	require.NoError(t, err)
	assert.Zero(t, r.Counts(), "they are settled")
	require.NoError(t, r.Close())
}

// A clock that was ahead, and was set right between two processes, must not make
// duplicates of all that comes until it would have been right.
func TestDuplicatesAfterAClockWasSet(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		why    string
		until  time.Duration // from now, as an earlier process wrote it
		active bool
		admits bool
	}{
		{"half of the window is left", 150 * time.Second, false, false},
		{"all of it is", 300 * time.Second, false, false},
		{"the clock was a moment ahead", 301 * time.Second, false, false},
		{"the window has passed", -time.Second, false, true},
		{"the clock was an hour ahead", time.Hour, false, true},
		{"it was, and an agent works on it", time.Hour, true, false},
	} {
		d := newDedupe(300 * time.Second)
		d.seen["key"] = admission{now.Add(tc.until), tc.active}
		assert.Equal(t, tc.admits, d.admit("key", now), tc.why)
		assert.False(t, d.admit("key", now.Add(time.Second)), "%s: the next is a duplicate", tc.why)
	}
	d := newDedupe(300 * time.Second)
	d.seen["key"] = admission{now.Add(time.Hour), false}
	d.expire(now)
	assert.Empty(t, d.seen, "nor is it kept until then")
}
