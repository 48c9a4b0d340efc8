//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens and locks a file. The lock belongs to the open file: it ends
// with its last descriptor. A child inherits one only if it is passed on purpose.
func openLock(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			err = ErrHeld
		default:
			err = os.NewSyscallError("flock", err)
		}
		_ = f.Close()
		return nil, err
	}
}

func closeLock(f *os.File) error { return f.Close() }
