//go:build !unix

package toolkit

import "os/exec"

// asGroup leaves the command as it is: without process groups its own end is
// all that can be had. Children that outlive it are not waited for.
func asGroup(*exec.Cmd) {}
