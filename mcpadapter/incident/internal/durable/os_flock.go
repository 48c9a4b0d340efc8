//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"errors"
	"os"
	"syscall"
)

// TakeLock locks a file of the directory until unlock is called, or until the process
// ends in any way. The error is [ErrHeld] if another process holds the lock. It belongs
// to the open file: a child inherits it only if it is passed on purpose. The file stays,
// since removing it would let two processes hold a lock of the same name.
func TakeLock(dir *os.Root, name string) (unlock func() error, err error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for again := true; again; again = errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch {
	case err == nil:
		return f.Close, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrHeld
	}
	return nil, errors.Join(err, f.Close())
}
