//go:build !unix

package incident

import (
	"os"
	"os/exec"
)

// There are no process groups to signal here: the program itself is ended, and
// what it started has to end by itself.

func lead(*exec.Cmd) {}

// askToEnd does nothing: there is no signal that asks a program to end.
func askToEnd(int) {}

func kill(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

// openAtOnce has no bits where there are no named pipes among the files.
const openAtOnce = 0
