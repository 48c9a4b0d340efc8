//go:build !unix

package incident

import "os"

// syncDir does nothing: directories cannot be synchronised here, and a rename
// is in the file system's journal.
func syncDir(*os.Root) error { return nil }

// openAtOnce has no bits where there are no named pipes among the files.
const openAtOnce = 0
