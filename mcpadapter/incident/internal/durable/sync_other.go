//go:build !unix

package durable

import "os"

// syncDir does nothing: these systems cannot synchronise directories. A rename
// is in the file system's own journal.
func syncDir(*os.Root) error { return nil }
