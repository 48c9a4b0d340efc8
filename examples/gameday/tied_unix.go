//go:build unix && !linux

package main

import "syscall"

// tied makes a process one that Ctrl-C does not reach, so that the rollbacks
// find it alive. A group of its own also ends a process that is paused when its
// parent dies: POSIX has the system hang up on stopped, orphaned groups.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
