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
	case err != nil && !errors.Is(err, syscall.EPERM): // EPERM: it runs as another user
		return false, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	if err != nil {
		return true, nil
	}
	// the process name before it may contain any character
	_, state, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X")), nil
}
