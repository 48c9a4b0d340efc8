//go:build unix

package incident

import "syscall"

// openAtOnce opens a named pipe without waiting for a writer.
const openAtOnce = syscall.O_NONBLOCK
