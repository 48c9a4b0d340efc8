// Package auditlog keeps lines of audit in a file. A process that is killed leaves
// at most its last line cut off.
//
//	file, err := auditlog.Open("audit.jsonl")
//	gate, err := policy.New(&policy.Options{Audit: file})
//
// Stability: may change.
package auditlog

import (
	"fmt"
	"os"
)

// Open opens a file for audit lines, at its end. A new file can be read by its
// owner alone. If the last process left a line cut off, the next line begins on
// a new one.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("auditlog: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			_, err = f.WriteString("\n")
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("auditlog: %w", err)
	}
	return f, nil
}
