//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

// openLock creates the file, which must not exist. The standard library has no
// locks for these systems that end with their process. So a process that is
// killed leaves the file, and an operator has to remove it.
func openLock(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, ErrHeld
	}
	return f, err
}

func closeLock(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
