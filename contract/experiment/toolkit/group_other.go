//go:build !unix

package toolkit

import "os/exec"

// asGroup leaves the command unchanged: without process groups only the process
// itself can be killed. Children that outlive it are not waited for.
func asGroup(*exec.Cmd) {}
