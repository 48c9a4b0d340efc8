// Package durable keeps small files that survive the death of a process at any
// moment, whole or as they were. It has files that are replaced in one step, an
// append-only journal with checksums, and a lock that names its holder.
package durable

import (
	"errors"
	"fmt"
	"os"
)

// A File is open for writing.
type File interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// An FS makes the changes that have to last. Tests put one in its place that
// fails, or that ends the process. [OS] is the real one.
type FS interface {
	// Open opens a file of the directory for writing; flag and mode are those of [os.OpenFile].
	Open(dir *os.Root, name string, flag int) (File, error)
	Rename(dir *os.Root, from, to string) error
	// SyncDir makes a rename last beyond a crash of the machine.
	SyncDir(dir *os.Root) error
}

// OS is the file system of the operating system.
type OS struct{}

// Open opens a file that only its owner may read.
func (OS) Open(dir *os.Root, name string, flag int) (File, error) {
	return dir.OpenFile(name, flag, 0o600)
}

// Rename replaces a file in one step.
func (OS) Rename(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

// SyncDir synchronises the directory, where directories can be.
func (OS) SyncDir(dir *os.Root) error { return syncDir(dir) }

// Replace writes a file in one step: either the old or the new contents are
// there, also after a crash. What an earlier crash left of a temporary file is
// removed, and so is a directory in the place of the file.
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
		_ = dir.RemoveAll(temporary) // a full disk needs the room
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
