//go:build !unix

package incident

import "os/exec"

// group is the program alone: there are no process groups to signal here, so
// what the program starts has to end by itself.
type group struct{ cmd *exec.Cmd }

func ownGroup(cmd *exec.Cmd) group { return group{cmd} }

func (g group) kill() {
	if g.cmd.Process != nil {
		_ = g.cmd.Process.Kill()
	}
}
