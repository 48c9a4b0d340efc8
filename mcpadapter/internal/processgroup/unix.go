//go:build unix

// Package processgroup ends a program together with what it has started.
package processgroup

import (
	"os/exec"
	"syscall"
)

// Lead makes a command the leader of a process group, so that the signals of a
// terminal do not reach it, and signals sent here reach the whole group.
func Lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// AskToEnd asks the group of a leader to end. A group that is gone already is fine.
func AskToEnd(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// Kill ends every process of the group.
func Kill(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }
