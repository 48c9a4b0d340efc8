//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package incident

import (
	"context"
	"fmt"
	"os"
)

// canKeep reports whether this system has what a keeper needs.
const canKeep = false

// Keep is the keeper of an agent, where the system has what it needs: locks
// that a child inherits, and signals. It has not, and commands run without one.
func Keep(args []string) int {
	_ = args
	fmt.Fprintln(os.Stderr, "incident: there are no keepers on this system")
	return 2
}

func (c *Command) investigateKept(context.Context, Job) Result {
	return failed(fmt.Errorf("there are no keepers on this system"))
}

func (c *Command) awaitEarlier(context.Context, Job) earlierEnd { return earlierEnd{} }
