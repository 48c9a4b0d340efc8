//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package serve

import "os"

// Standard returns the file: these systems have no signal for a reader that has gone.
func Standard(f *os.File) *os.File { return f }
