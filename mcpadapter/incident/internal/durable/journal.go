package durable

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// A Journal is an append-only file of records. After Append a record survives
// the end of the process, and after the next Sync a crash of the machine. A
// Journal is safe for concurrent use. The file must have one writer, see [TakeLock].
//
// A write that fails may leave the end of the file torn. Append then refuses
// records until Rewrite has replaced the file.
type Journal struct {
	fs   FS
	dir  *os.Root
	name string

	syncing sync.Mutex // held while the file is synchronised; taken before mu

	mu    sync.Mutex
	file  File // nil: refuses records
	size  int64
	dirty bool  // there is something to synchronise
	why   error // why it refuses records; nil: it takes them
}

// OpenJournal reads the whole records of a journal. torn is the number of bytes
// that were torn or damaged. If there are any, a copy of the whole file is
// kept as NAME.torn. The journal refuses records until Rewrite is called.
func OpenJournal(fs FS, dir *os.Root, name string) (j *Journal, records [][]byte, torn int, err error) {
	j = &Journal{fs: fs, dir: dir, name: name, why: errors.New("the journal was not rewritten yet")}
	data, err := readAll(dir, name)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("journal: %w", err)
	}
	if records, torn = Decode(data); torn > 0 {
		keepTorn(dir, name+".torn", data)
	}
	return j, records, torn, nil
}

// keepTorn writes the copy anew, for diagnosis: nothing depends on it. What has its name is
// removed and never opened, since to open a pipe would wait for a reader.
func keepTorn(dir *os.Root, name string, data []byte) {
	_ = dir.Remove(name)
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(data)
	_ = f.Close()
}

// readAll reads a regular file: to open a named pipe would wait for its writer.
func readAll(dir *os.Root, name string) ([]byte, error) {
	info, err := dir.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s; allowed: a regular file", name, info.Mode().Type())
	}
	if err != nil {
		return nil, err
	}
	return dir.ReadFile(name)
}

// Append writes a record of 1 to MaxRecord bytes at the end. It returns an
// error if the journal refuses records ([Journal.Err]).
func (j *Journal) Append(record []byte) error {
	frame, err := appendFrame(nil, record)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.why != nil {
		return fmt.Errorf("journal: %w", j.why)
	}
	if _, err := j.file.Write(frame); err != nil {
		j.refuse(err)
		return fmt.Errorf("journal: %w", err)
	}
	j.size += int64(len(frame))
	j.dirty = true
	return nil
}

// refuse closes the file and makes Append return err. The caller holds mu.
func (j *Journal) refuse(err error) {
	j.why = err
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}

// Sync makes the appended records survive a crash of the machine. It returns
// the error of [Journal.Err] if the journal refuses records.
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
		if j.file == f { // else it was closed or replaced meanwhile
			j.refuse(err)
		}
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Rewrite replaces the file in one step by one with these records alone. After
// that the journal takes records again. The caller must not append between
// collecting the records and Rewrite: such a record would be lost.
func (j *Journal) Rewrite(records [][]byte) error {
	var data []byte
	for _, r := range records {
		var err error
		if data, err = appendFrame(data, r); err != nil {
			return err
		}
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	// Some systems cannot replace an open file. After a failure, a record appended
	// to the old file could be lost.
	j.refuse(errors.New("the journal is being rewritten"))
	var f File
	err := Replace(j.fs, j.dir, j.name, data)
	if err == nil {
		f, err = j.fs.Open(j.dir, j.name, os.O_WRONLY|os.O_APPEND)
	}
	if err != nil {
		j.refuse(err)
		return fmt.Errorf("journal: %w", err)
	}
	j.file, j.size, j.dirty, j.why = f, int64(len(data)), false, nil
	return nil
}

// Size returns the size of the file in bytes; 0 before the first Rewrite.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Err returns why the journal refuses records, or nil if it takes them.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.why
}

// Close synchronises the file and closes it. After that the journal refuses
// records.
func (j *Journal) Close() error {
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refuse(os.ErrClosed)
	return err
}
