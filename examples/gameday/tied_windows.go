package main

import "syscall"

// tied makes a process one that Ctrl-C does not reach, so that the rollbacks
// find it alive.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
