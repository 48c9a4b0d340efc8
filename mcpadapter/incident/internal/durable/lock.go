package durable

import (
	"errors"
	"os"
)

// ErrHeld is the error of a lock that another process holds.
var ErrHeld = errors.New("held")

// A Lock is held until Unlock, or until the process ends in any way. On systems
// without such locks its file stays after a kill, and locks until it is removed.
type Lock struct{ file *os.File }

// TakeLock locks a file of the directory. The error is [ErrHeld] if another process
// holds the lock.
func TakeLock(dir *os.Root, name string) (*Lock, error) {
	f, err := openLock(dir, name)
	if err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// Unlock releases the lock. The file stays where the system has locks: removing
// it would let two processes hold a lock of the same name.
func (l *Lock) Unlock() error { return closeLock(l.file) }
