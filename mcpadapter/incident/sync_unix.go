//go:build unix

package incident

import (
	"os"
	"syscall"
)

// openAtOnce opens a named pipe without waiting for a writer.
const openAtOnce = syscall.O_NONBLOCK

// syncDir makes a rename in the directory last beyond a crash of the machine.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
