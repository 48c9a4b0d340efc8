package main

import "syscall"

// tied keeps Ctrl-C from a process, so that the rollbacks find it alive. The
// process ends with this one even while it is paused, when it does not see its
// input close.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
