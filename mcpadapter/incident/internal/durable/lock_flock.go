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
	if err := TryLock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// TryLock locks an open file. It returns ErrHeld if another process holds it.
func TryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return os.NewSyscallError("flock", err)
		}
	}
}

func closeLock(f *os.File) error { return f.Close() }

// Dead reports whether the holder was a process on this machine that has ended.
func Dead(h Holder) bool {
	host, err := os.Hostname()
	return err == nil && h.PID > 0 && h.Host == host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
