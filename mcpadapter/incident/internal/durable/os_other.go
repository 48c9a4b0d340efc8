//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package durable

import (
	"errors"
	"os"
)

// TakeLock creates a file of the directory, which must not exist, and which unlock
// removes. The standard library has no lock for these systems that ends with its
// process: one that is killed leaves the file, and an operator has to remove it.
func TakeLock(dir *os.Root, name string) (unlock func() error, err error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, ErrHeld
	}
	return func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }, err
}
