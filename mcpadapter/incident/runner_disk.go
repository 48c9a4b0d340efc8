package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident/internal/durable"
)

// Names within the runner's own directory, which is no workspace.
const (
	runnerDir   = ".runner"
	lockFile    = "lock"
	journalFile = "journal"
)

// A LockedError reports that another runner has the workspace root.
type LockedError struct{ Root string }

// Error names the root.
func (e *LockedError) Error() string {
	return fmt.Sprintf("incident: the workspace root %s is held by another runner; allowed: one runner at a time", e.Root)
}

// disk is what a runner keeps under the root in addition to the workspaces.
type disk struct {
	dir     *os.Root
	unlock  func() error
	journal *durable.Journal
	base    int64 // size of the journal when it was last rewritten
}

// lockPatience is how long a lock is waited for: that of a runner that died is held
// for a moment by a program that it was just starting.
const lockPatience = time.Second

func openDisk(w *Workspaces) (d *disk, records [][]byte, torn int, err error) {
	path := filepath.Join(w.root, runnerDir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, nil, 0, fmt.Errorf("incident: workspace root: %w", err)
	}
	d = new(disk)
	if d.dir, err = os.OpenRoot(path); err != nil {
		return nil, nil, 0, fmt.Errorf("incident: workspace root: %w", err)
	}
	if d.unlock, err = takeLock(d.dir); err != nil {
		_ = d.dir.Close()
		if errors.Is(err, durable.ErrHeld) {
			return nil, nil, 0, &LockedError{w.root}
		}
		return nil, nil, 0, fmt.Errorf("incident: lock of the workspace root: %w", err)
	}
	d.journal, records, torn, err = durable.OpenJournal(w.fs, d.dir, journalFile)
	if err != nil {
		return nil, nil, 0, errors.Join(fmt.Errorf("incident: %w", err), d.close())
	}
	return d, records, torn, nil
}

func takeLock(dir *os.Root) (unlock func() error, err error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		unlock, err = durable.TakeLock(dir, lockFile)
		if !errors.Is(err, durable.ErrHeld) || time.Since(began) > lockPatience {
			return unlock, err
		}
	}
}

// close releases the root. The next runner does not know what is not in the
// journal by then.
func (d *disk) close() error {
	var err error
	if d.journal != nil {
		err = d.journal.Close()
	}
	return errors.Join(err, d.unlock(), d.dir.Close())
}

// commit applies one entry to the ledger and appends it to the journal. The
// caller holds mu. The error reports that the disk refused the entry. The ledger
// has it all the same, and the journal gets it when it is next rewritten.
func (r *Runner) commit(e entry) error {
	if err := r.book.apply(e); err != nil {
		return err // no step that was taken can be one that cannot be
	}
	record, err := e.record()
	if err == nil {
		err = r.disk.journal.Append(record)
	}
	if err != nil {
		r.counts.JournalErrors++
	}
	nudge(r.dirty)
	return err
}

// writeDown commits an entry and returns when it would survive a crash of the
// machine, or cannot.
func (r *Runner) writeDown(e entry) error {
	r.mu.Lock()
	err := r.commit(e)
	r.mu.Unlock()
	return cmp.Or(err, r.disk.journal.Sync())
}

// rewrite replaces the journal by one of the current ledger.
func (r *Runner) rewrite() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.seen.expire(time.Now())
	var records [][]byte
	for _, e := range r.book.entries() {
		record, err := e.record()
		if err != nil {
			return fmt.Errorf("incident: %w", err)
		}
		records = append(records, record)
	}
	if err := r.disk.journal.Rewrite(records); err != nil {
		return err
	}
	r.disk.base = r.disk.journal.Size()
	return nil
}

// Pauses between attempts to write to a disk that refuses writes.
const (
	leastDiskPause = time.Second
	mostDiskPause  = 30 * time.Second
)

// insist repeats a write that has to succeed before anything else can happen,
// until the context ends. It tries at least once.
func (r *Runner) insist(ctx context.Context, what func() error) error {
	for wait := leastDiskPause; ; wait = min(2*wait, mostDiskPause) {
		err := what()
		if err == nil {
			return nil
		}
		r.o.Log.Error("the disk takes nothing", "error", err)
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// insistOn commits an entry, and repeats that until it succeeds.
func (r *Runner) insistOn(ctx context.Context, e entry) error {
	err := r.writeDown(e)
	if err == nil {
		return nil
	}
	return r.insist(ctx, func() error { // the ledger has it; only the journal has to be rewritten
		if r.disk.journal.Err() == nil {
			return r.disk.journal.Sync()
		}
		return r.rewrite()
	})
}

// syncEvery is how often what was written is synchronised with the disk, at most.
const syncEvery = 100 * time.Millisecond

// A journal is rewritten when it is so many times as long as it need be.
const (
	rewriteFactor = 4
	rewriteLeast  = 1 << 20
)

// tend keeps the journal synchronised, short and whole until the context ends.
func (r *Runner) tend(ctx context.Context) {
	wait := leastDiskPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
		}
		if pause(ctx, syncEvery) != nil {
			return
		}
		j := r.disk.journal
		err := j.Sync()
		if err != nil || j.Size() > rewriteFactor*r.disk.base+rewriteLeast {
			err = r.rewrite()
		}
		if err == nil {
			wait = leastDiskPause
			continue
		}
		r.o.Log.Error("the journal cannot be written", "error", err)
		if pause(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, mostDiskPause)
		nudge(r.dirty)
	}
}
