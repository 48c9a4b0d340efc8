package policy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// A sink is where the lines of audit go, in one stream. It counts the lines that
// it could not write, and says how many in a line of its own once it can again.
type sink struct {
	mu      sync.Mutex
	to      io.Writer // nil: standard output or standard error
	overWeb bool      // there is a handler for HTTP
	noOut   bool      // standard output belongs to somebody else
	torn    bool      // the last line has no end
	err     error     // of the last line; nil: it was written
	lost    uint64
	told    uint64 // of those lost
}

// Write writes one line.
func (s *sink) Write(line []byte) (int, error) {
	line = visible(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if missing := s.lost - s.told; missing > 0 {
		gap := fmt.Sprintf(`{"time":%q,"level":"ERROR","msg":"mcp.audit.lost","event":"mcp.audit.lost","lines":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), missing)
		if s.write([]byte(gap)) == nil {
			s.told += missing
		}
	}
	if err := s.write(line); err != nil {
		s.lost++
		return 0, err
	}
	return len(line), nil
}

// write hands bytes to the writer. What follows a line that was cut off begins a
// new one.
func (s *sink) write(line []byte) error {
	if s.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := s.writer().Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	s.err = err
	if n > 0 {
		s.torn = err != nil
	}
	return err
}

func (s *sink) writer() io.Writer {
	switch {
	case s.to != nil:
		return s.to
	case s.overWeb && !s.noOut:
		return os.Stdout
	}
	return os.Stderr
}

// visible escapes, in a line of JSON, what a terminal would obey or hide: DEL,
// the C1 controls, and the marks that reverse the direction of text. They can
// only stand inside strings.
func visible(line []byte) []byte {
	if !bytes.ContainsFunc(line, hidden) {
		return line
	}
	var b bytes.Buffer
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(line[:n])
		}
		line = line[n:]
	}
	return b.Bytes()
}

func hidden(r rune) bool {
	return r == 0x7f || 0x80 <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// ReserveStdout keeps the audit lines off standard output, from now on and for
// good: it is for a server that speaks over it. Options.Audit is not touched.
func (g *Gate) ReserveStdout() {
	g.audit.sink.mu.Lock()
	defer g.audit.sink.mu.Unlock()
	g.audit.sink.noOut = true
}

// An AuditHealth says how the audit log does.
type AuditHealth struct {
	_ struct{}

	Err  error  // why the last line could not be written; nil: it was
	Lost uint64 // lines that could not be written, since the gate was made
}

// AuditHealth says how the audit log does.
func (g *Gate) AuditHealth() AuditHealth {
	g.audit.sink.mu.Lock()
	defer g.audit.sink.mu.Unlock()
	return AuditHealth{Err: g.audit.sink.err, Lost: g.audit.sink.lost}
}

// An AuditLog is what [ReadAudit] has read.
type AuditLog struct {
	_ struct{}

	Lines []map[string]any // the members of each line
	Torn  int              // lines that were cut off, and skipped
}

// maxAuditLine is more than a line can have, in bytes.
const maxAuditLine = 1 << 20

// ReadAudit reads lines of audit. A process that was killed leaves at most its
// last line cut off; such a line is skipped and counted, also where the lines of
// a later process follow it. An error is that of r, or a line beyond 1 MiB; the
// log has what came before.
func ReadAudit(r io.Reader) (*AuditLog, error) {
	log := new(AuditLog)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAuditLine)
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
		return log, fmt.Errorf("policy: audit log: after %d lines: %w", len(log.Lines)+log.Torn, err)
	}
	return log, nil
}

// OpenAudit opens a file for audit lines, at its end; a new one can be read by
// its owner alone. Where the last process left a line cut off, the next begins
// on a new one.
func OpenAudit(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("policy: audit log: %w", err)
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
		return nil, fmt.Errorf("policy: audit log: %w", err)
	}
	return f, nil
}
