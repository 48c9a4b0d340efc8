//go:build unix

package incident

import (
	"os/exec"
	"syscall"
)

// group is the process group that a command leads.
type group struct{ cmd *exec.Cmd }

// ownGroup makes the command the leader of a group, and the end of its context
// the end of the group.
func ownGroup(cmd *exec.Cmd) group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g := group{cmd}
	cmd.Cancel = func() error { g.kill(); return nil }
	return g
}

// kill ends every process of the group. A group that is gone already is fine.
func (g group) kill() {
	if g.cmd.Process != nil {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	}
}
