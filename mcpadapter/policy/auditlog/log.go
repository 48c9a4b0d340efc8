// Package auditlog keeps lines of audit in a file, and reads them back. A process
// that is killed leaves at most its last line cut off.
//
//	file, err := auditlog.Open("audit.jsonl")
//	gate, err := policy.New(&policy.Options{Audit: file})
package auditlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A Log is the result of [Read].
type Log struct {
	_ struct{}

	Lines []map[string]any // the members of each line
	Torn  int              // lines that were cut off, and skipped
}

// maxLine is more than a line can have, in bytes.
const maxLine = 1 << 20

// Read reads audit lines. A process that was killed leaves at most its last
// line cut off. Such a line is skipped and counted, also if lines of a later
// process follow it. An error is that of r, or a line beyond 1 MiB; the log has
// what came before.
func Read(r io.Reader) (*Log, error) {
	log := new(Log)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var members map[string]any
		if json.Unmarshal(lines.Bytes(), &members) != nil || members == nil {
			log.Torn++
			continue
		}
		log.Lines = append(log.Lines, members)
	}
	if err := lines.Err(); err != nil {
		return log, fmt.Errorf("auditlog: after %d lines: %w", len(log.Lines)+log.Torn, err)
	}
	return log, nil
}

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
