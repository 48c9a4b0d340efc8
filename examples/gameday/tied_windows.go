package main

import "syscall"

// tied keeps Ctrl-C from a process, so that the rollbacks find it alive.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
