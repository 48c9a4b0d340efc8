//go:build unix

package toolkit

import (
	"os/exec"
	"syscall"
)

// asGroup makes the command the head of a process group, and its end that of
// the whole group.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
