//go:build unix

package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// alive sends signal 0. It succeeds for a running process, and for one that has
// ended and was not waited for. On Linux the two can be told apart.
func alive(p *os.Process) (bool, error) {
	err := p.Signal(syscall.Signal(0))
	switch {
	case errors.Is(err, os.ErrProcessDone), errors.Is(err, syscall.ESRCH):
		return false, nil
	case err != nil && !errors.Is(err, syscall.EPERM): // EPERM: it lives, as someone else's
		return false, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	if err != nil {
		return true, nil
	}
	_, state, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" ")) // the name before may have anything in it
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X")), nil
}
