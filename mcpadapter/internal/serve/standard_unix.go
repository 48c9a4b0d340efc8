//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package serve

import (
	"os"
	"syscall"
)

// Standard returns standard output or standard error under another descriptor. Go
// ends a process that writes to one of these two after its reader has gone; a write
// to any other is an error, which can be counted. Any other file is returned as it is.
func Standard(f *os.File) *os.File {
	other := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // -1 stays where it fails
			if fd == 1 || fd == 2 {
				other = duplicate(int(fd))
			}
		})
	}
	if other < 0 {
		return f
	}
	return os.NewFile(uintptr(other), f.Name())
}

// duplicate returns -1 if there is no room for another descriptor. No child inherits it.
func duplicate(fd int) int {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	other, err := syscall.Dup(fd)
	if err != nil {
		return -1
	}
	syscall.CloseOnExec(other)
	return other
}
