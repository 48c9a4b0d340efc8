//go:build unix && !linux

package main

import "syscall"

// tied keeps Ctrl-C from a process, so that the rollbacks find it alive. Its own
// group also ends a process that is paused when its parent dies: by POSIX, the
// system sends SIGHUP to stopped, orphaned groups.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
