//go:build unix

package incident

import (
	"os/exec"
	"syscall"
)

// lead makes a command the leader of a process group, so that the signals of a
// terminal do not reach it, and signals sent here reach the whole group.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// askToEnd asks the group of a leader to end. A group that is gone already is fine.
func askToEnd(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// kill ends every process of the group.
func kill(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// openAtOnce opens a named pipe without waiting for a writer.
const openAtOnce = syscall.O_NONBLOCK
