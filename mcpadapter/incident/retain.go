package incident

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// retainEvery is the time between two searches for old workspaces.
const retainEvery = 10 * time.Minute

// retain removes the workspaces of ended incidents that are too old, or too
// many, until the context ends.
func (r *Runner) retain(ctx context.Context) {
	if r.o.MaxAge == 0 && r.o.MaxBytes == 0 {
		return
	}
	for {
		if err := r.removeOld(time.Now()); err != nil {
			r.o.Log.Warn("some workspaces were not removed", "error", err)
		}
		if pause(ctx, retainEvery) != nil {
			return
		}
	}
}

// removeOld removes what the limits say. An incident stays if it has no end, or
// if a message about it is still to be sent.
func (r *Runner) removeOld(now time.Time) error {
	all, err := r.o.Workspaces.Load()
	problems := []error{err}
	sizes := make([]int64, len(all))
	var total int64
	for i, in := range all {
		sizes[i], err = sizeOf(r.o.Workspaces.Dir(in.IncidentID))
		problems = append(problems, err)
		total += sizes[i]
	}
	for i, in := range all { // the oldest first
		old := r.o.MaxAge > 0 && in.CompletedAt != nil && now.Sub(*in.CompletedAt) > r.o.MaxAge
		much := r.o.MaxBytes > 0 && total > r.o.MaxBytes
		if !old && !much || !r.done(in) {
			continue
		}
		if err := r.o.Workspaces.remove(in.IncidentID); err != nil {
			problems = append(problems, err)
			continue
		}
		total -= sizes[i]
		r.mu.Lock()
		r.counts.Removed++
		r.mu.Unlock()
	}
	return errors.Join(problems...)
}

// done reports whether a workspace may be removed.
func (r *Runner) done(in Incident) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return in.Status.final() && r.book.cases[in.IncidentID] == nil &&
		r.book.letters.find(in.IncidentID) == nil && r.book.copies.find(in.IncidentID) == nil
}

// remove removes a workspace. Links in it are removed, not followed.
func (w *Workspaces) remove(id string) error {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(id)
}

// sizeOf adds up the sizes of a directory's files; a file that cannot be read
// counts as empty.
func sizeOf(dir string) (total int64, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the rest counts
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, err
}
