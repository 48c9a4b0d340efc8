package main

import "syscall"

// tied makes a process one that Ctrl-C does not reach, so that the rollbacks
// find it alive, and that does not outlive this one: not even while it is
// paused, when it does not see its input close.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
