package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A Journal is an append-only file of records. A record that Append took
// survives the death of the process, and that of the machine after the next
// Sync. It is safe for concurrent use; the file has one writer, see [Lock].
//
// After a write that failed the end of the file may be torn: Append refuses,
// until Rewrite has put a whole file in its place.
type Journal struct {
	fs   FS
	dir  *os.Root
	name string

	syncing sync.Mutex // held while the file is synchronised; taken before mu

	mu    sync.Mutex
	file  File // nil: broken, or closed
	size  int64
	dirty bool  // there is something to synchronise
	why   error // of the first failure; nil: whole
}

// OpenJournal opens a journal and returns its records, and how many bytes after
// them were torn or damaged; those are kept aside, in the file NAME.torn. It
// has to be rewritten before it takes records.
func OpenJournal(fs FS, dir *os.Root, name string) (j *Journal, records [][]byte, torn int, err error) {
	j = &Journal{fs: fs, dir: dir, name: name, why: errors.New("the journal was not rewritten yet")}
	data, err := readAll(dir, name)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("journal: %w", err)
	}
	records, valid := Decode(data)
	if torn = len(data) - valid; torn > 0 {
		_ = dir.WriteFile(name+".torn", data, 0o600) // for diagnosis; nothing depends on it
	}
	return j, records, torn, nil
}

func readAll(dir *os.Root, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Append writes a record at the end.
func (j *Journal) Append(record []byte) error {
	if len(record) == 0 || len(record) > MaxRecord {
		return fmt.Errorf("journal: a record of %d bytes; allowed: 1 to %d", len(record), MaxRecord)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.why != nil {
		return fmt.Errorf("journal: %w", j.why)
	}
	frame := appendFrame(nil, record)
	if _, err := j.file.Write(frame); err != nil {
		j.broken(err)
		return fmt.Errorf("journal: %w", err)
	}
	j.size += int64(len(frame))
	j.dirty = true
	return nil
}

// broken notes the first failure. The caller holds mu.
func (j *Journal) broken(err error) {
	j.why = err
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}

// Sync makes what was appended last beyond a crash of the machine. A journal
// that is broken has nothing to synchronise: the error says why it is.
func (j *Journal) Sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	f, dirty, why := j.file, j.dirty, j.why
	j.dirty = false
	j.mu.Unlock()
	switch {
	case why != nil:
		return fmt.Errorf("journal: %w", why)
	case !dirty:
		return nil
	}
	if err := f.Sync(); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.file == f { // else it was broken or replaced meanwhile
			j.broken(err)
		}
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Rewrite puts a file with just these records in the place of the journal, in
// one step, and mends a broken one. Nothing may be appended meanwhile.
func (j *Journal) Rewrite(records [][]byte) error {
	var data []byte
	for _, r := range records {
		if len(r) == 0 || len(r) > MaxRecord {
			return fmt.Errorf("journal: a record of %d bytes; allowed: 1 to %d", len(r), MaxRecord)
		}
		data = appendFrame(data, r)
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	// What is open cannot be replaced everywhere, and what would be appended to
	// it after a failure could be lost.
	j.broken(errors.New("the journal is being rewritten"))
	if err := Replace(j.fs, j.dir, j.name, data); err != nil {
		j.broken(err)
		return fmt.Errorf("journal: %w", err)
	}
	f, err := j.fs.Open(j.dir, j.name, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		j.broken(err)
		return fmt.Errorf("journal: %w", err)
	}
	j.file, j.size, j.dirty, j.why = f, int64(len(data)), false, nil
	return nil
}

// Size is that of the file in bytes.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Err says why the journal takes no records; nil: it does.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.why
}

// Close synchronises and closes the journal. It takes no records any more.
func (j *Journal) Close() error {
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken(os.ErrClosed)
	return err
}
