//go:build !unix

package durable

import "os"

// syncDir does nothing: directories cannot be synchronised here, and a rename
// is in the file system's own journal.
func syncDir(*os.Root) error { return nil }
