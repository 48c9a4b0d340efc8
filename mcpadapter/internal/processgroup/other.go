//go:build !unix

// Package processgroup ends a program together with what it has started.
package processgroup

import (
	"os"
	"os/exec"
)

// There are no process groups to signal here: the program itself is ended, and
// what it started has to end by itself.

// Lead does nothing.
func Lead(*exec.Cmd) {}

// AskToEnd does nothing: there is no signal that asks a program to end.
func AskToEnd(int) {}

// Kill ends the program.
func Kill(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}
