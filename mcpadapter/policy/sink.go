package policy

import (
	"bytes"
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

// AuditHealth says how the audit log does: how many lines could not be written
// since the gate was made, and why the last one could not; nil: it was.
func (g *Gate) AuditHealth() (lost uint64, err error) {
	g.audit.sink.mu.Lock()
	defer g.audit.sink.mu.Unlock()
	return g.audit.sink.lost, g.audit.sink.err
}
