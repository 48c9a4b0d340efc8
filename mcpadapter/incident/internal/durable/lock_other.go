//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

// openLock makes the file, which must not be there. A process that was killed
// leaves it, and somebody has to remove it: these systems have no locks in the
// standard library that end with their process.
func openLock(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, ErrHeld
	}
	return f, err
}

func closeLock(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// Dead reports whether the holder was a process of this machine that has ended;
// here that is never known.
func Dead(Holder) bool { return false }
