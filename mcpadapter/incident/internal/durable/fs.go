// Package durable keeps small files that are whole, or as they were, whenever
// the process dies. It has files that are replaced in one step, an append-only
// journal with checksums, and a lock that one process holds.
package durable

import (
	"errors"
	"fmt"
	"os"
)

// ErrHeld is the error of a lock that another process holds.
var ErrHeld = errors.New("held")

// A File is a file that is open for writing.
type File interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// An FS makes the changes that have to last. [OS] is the real one. Tests use
// others, which fail or end the process.
type FS interface {
	// Open opens a file of the directory for writing; flag is that of [os.OpenFile].
	Open(dir *os.Root, name string, flag int) (File, error)
	// Rename replaces a file of the directory in one step.
	Rename(dir *os.Root, from, to string) error
	// SyncDir makes earlier renames survive a crash of the machine.
	SyncDir(dir *os.Root) error
}

// OS is the file system of the operating system.
type OS struct{}

// Open opens a file. A file that it creates is readable by its owner alone.
func (OS) Open(dir *os.Root, name string, flag int) (File, error) {
	return dir.OpenFile(name, flag, 0o600)
}

// Rename replaces a file in one step.
func (OS) Rename(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

// SyncDir synchronises the directory with the disk, where the system can.
func (OS) SyncDir(dir *os.Root) error { return syncDir(dir) }

// Replace writes a file in one step: after a crash it has either the old or the
// new contents. It removes a temporary file that an earlier crash left, and a
// directory in the place of the file.
func Replace(fs FS, dir *os.Root, name string, data []byte) error {
	temporary := "." + name + ".new"
	_ = dir.RemoveAll(temporary)
	f, err := fs.Open(dir, temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = dir.RemoveAll(temporary) // a full disk needs the space
		return fmt.Errorf("write %s: %w", name, err)
	}
	if info, statErr := dir.Lstat(name); statErr == nil && info.IsDir() {
		if err := dir.RemoveAll(name); err != nil {
			return err
		}
	}
	if err := fs.Rename(dir, temporary, name); err != nil {
		return err
	}
	return fs.SyncDir(dir)
}
