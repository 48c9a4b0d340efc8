package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// errorSharingViolation is the error of Windows for a file that another process
// has open.
const errorSharingViolation syscall.Errno = 32

// openLock opens a file that other processes can read, but cannot write until
// it is closed.
func openLock(dir *os.Root, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	at, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(at, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

func closeLock(f *os.File) error { return f.Close() }
