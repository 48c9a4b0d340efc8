//go:build unix

package toolkit

import (
	"os/exec"
	"syscall"
)

// asGroup makes the command the leader of a process group. Killing it kills the
// whole group.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
