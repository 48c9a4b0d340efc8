package policy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/serve"
)

// sinkTime is how long the writer may take for a line before it counts as
// blocked. After that no call waits for it until it has returned.
const sinkTime = 2 * time.Second

// A sink writes the audit lines to one stream. It counts the lines that it
// could not write, and writes their number in a line of its own once it can
// again.
type sink struct {
	turn chan struct{} // holds one while the writer works

	mu       sync.Mutex    // guards what follows, and is not held while the writer works
	to       io.Writer     // nil: standard output or standard error
	overWeb  bool          // there is a handler for HTTP
	noOut    bool          // standard output belongs to somebody else
	standard *os.File      // the standard stream in use; nil: none yet
	stream   *os.File      // the same under another descriptor
	blocked  chan struct{} // closed while the writer does not return
	torn     bool          // the last line has no end
	err      error         // of the last line; nil: it was written
	lost     uint64
	reported uint64 // of the lost lines
}

func newSink(to io.Writer) *sink {
	return &sink{to: to, turn: make(chan struct{}, 1), blocked: make(chan struct{})}
}

var errBlocked = fmt.Errorf("policy: the writer of the audit log has not returned for %v", sinkTime)

// Write writes one line. It returns when that is done, or when the writer is
// blocked: then the line is lost, unless the writer completes it later.
func (s *sink) Write(line []byte) (int, error) {
	return len(line), s.send(slices.Clone(visible(line)), 1)
}

// send writes some lines, or none: then only the report of lost lines.
func (s *sink) send(text []byte, lines uint64) error {
	s.mu.Lock()
	blocked := s.blocked
	s.mu.Unlock()
	select {
	case <-blocked: // also if the turn is free: it is about to end
		return s.missed(lines, errBlocked)
	default:
	}
	select {
	case s.turn <- struct{}{}:
	case <-blocked:
		return s.missed(lines, errBlocked)
	}
	written := make(chan error, 1)
	go func() { written <- s.put(text) }()
	limit := time.NewTimer(sinkTime)
	defer limit.Stop()
	select {
	case err := <-written:
		return s.ended(lines, err)
	case <-limit.C:
	}
	s.mu.Lock()
	close(s.blocked)
	s.mu.Unlock()
	go func() { // ends when the writer returns
		err := <-written
		s.mu.Lock()
		s.blocked = make(chan struct{})
		s.lost -= lines
		s.mu.Unlock()
		_ = s.ended(lines, err)
	}()
	return s.missed(lines, errBlocked)
}

// ended ends a turn. The error is that of the line written in it.
func (s *sink) ended(lines uint64, err error) error {
	if err != nil {
		err = s.missed(lines, err)
	} else {
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
	}
	<-s.turn
	return err
}

// missed counts lines that were not written.
func (s *sink) missed(lines uint64, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost += lines
	s.err = err
	return err
}

// put writes the report of lost lines, if any, and a line. It has the turn.
func (s *sink) put(line []byte) error {
	s.mu.Lock()
	missing := s.lost - s.reported
	s.mu.Unlock()
	if missing > 0 {
		gap := fmt.Sprintf(`{"time":%q,"level":"ERROR","msg":"mcp.audit.lost","event":"mcp.audit.lost","lines":%d}`+
			"\n", time.Now().UTC().Format(time.RFC3339Nano), missing)
		err := s.write([]byte(gap))
		if err == nil {
			s.mu.Lock()
			s.reported += missing
			s.mu.Unlock()
		}
		if err != nil || len(line) == 0 {
			return err
		}
	}
	return s.write(line)
}

// write passes bytes to the writer. After a line that was cut off it begins a
// new one.
func (s *sink) write(line []byte) error {
	s.mu.Lock()
	if s.torn {
		line = append([]byte("\n"), line...)
	}
	to := s.writer()
	s.mu.Unlock()
	n, err := whole(to, line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 {
		s.torn = err != nil
	}
	return err
}

// whole writes all of a line, or returns an error. A writer that panics must not end
// the process.
func whole(to io.Writer, line []byte) (n int, err error) {
	defer usercode.Recover(&err, "policy: the writer of the audit log")
	if n, err = to.Write(line); err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return n, err
}

// writer is where lines go. s.mu is held.
func (s *sink) writer() io.Writer {
	if s.to != nil {
		return s.to
	}
	if standard := s.standardStream(); s.standard != standard {
		s.standard, s.stream = standard, serve.Standard(standard)
	}
	return s.stream
}

// standardStream is the one that the transports leave free.
func (s *sink) standardStream() *os.File {
	if s.overWeb && !s.noOut {
		return os.Stdout
	}
	return os.Stderr
}

// visible escapes, in a line of JSON, the characters that control a terminal or
// hide text: DEL, the C1 controls, and the marks that reverse the direction of
// text. They occur only inside strings.
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

// ReserveStdout keeps the audit lines off standard output for good, for a
// server that speaks over it. Options.Audit is not affected.
func (g *Gate) ReserveStdout() {
	g.audit.sink.mu.Lock()
	defer g.audit.sink.mu.Unlock()
	g.audit.sink.noOut = true
}

// AuditHealth returns how many lines could not be written since the gate was
// made, and why the last line could not; nil: it was. If it could not,
// AuditHealth tries to write again, so that a repaired log is noticed without
// calls.
func (g *Gate) AuditHealth() (lost uint64, err error) {
	if _, err := g.audit.sink.state(); err != nil {
		_ = g.audit.sink.send(nil, 0) // says how many were lost
	}
	return g.audit.sink.state()
}

func (s *sink) state() (lost uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost, s.err
}
