package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio returns the transport over an input and an output, which stay open. The end of
// over gives up pending writes: the SDK would wait for them without limit, and a
// client that reads nothing would keep the process alive.
//
// The SDK ends the session at the first line that is no message. So a screen in
// front of it answers such lines, and those of more than max bytes.
func Stdio(in io.ReadCloser, out io.Writer, over <-chan struct{}, max int) mcp.Transport {
	answers := &lineWriter{to: output{out, over}}
	return &screened{screen: &screen{in: in, lines: bufio.NewReader(in), max: max, answers: answers}}
}

// screened is the transport of a screen.
type screened struct{ screen *screen }

func (t *screened) Connect(ctx context.Context) (mcp.Connection, error) {
	// the screen has a limit
	c, err := (&mcp.IOTransport{Reader: t.screen, Writer: t.screen.answers, MaxLineLength: -1}).Connect(ctx)
	return &screenedConn{c, t.screen}, err
}

// A screenedConn answers input that is JSON but no message of the protocol.
type screenedConn struct {
	mcp.Connection
	screen *screen
}

func (c *screenedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) || c.screen.failed() {
			return m, err
		}
		if err := c.screen.answers.refuse(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
			return nil, err
		}
	}
}

// A screen passes lines that are JSON, and answers the others.
type screen struct {
	in      io.Closer
	lines   *bufio.Reader
	max     int // bytes of a line
	answers *lineWriter
	passing []byte // what is left of the line that is being read

	mu  sync.Mutex
	err error // of the input, but for its end
}

func (s *screen) Close() error { return s.in.Close() }

func (s *screen) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// Read returns at most one line at a time.
func (s *screen) Read(p []byte) (int, error) {
	for len(s.passing) == 0 {
		line, long, err := s.next()
		line = bytes.TrimSpace(line)
		code, why := s.judge(line, long)
		if code != 0 {
			if wrong := s.answers.refuse(code, why); wrong != nil {
				err = wrong
			}
		} else if len(line) > 0 {
			s.passing = append(line, '\n')
			break // an error comes again
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.mu.Lock()
				s.err = err
				s.mu.Unlock()
			}
			return 0, err
		}
	}
	n := copy(p, s.passing)
	s.passing = s.passing[n:]
	return n, nil
}

// next reads a line. A line that is too long is not kept.
func (s *screen) next() (line []byte, long bool, err error) {
	for {
		part, err := s.lines.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > s.max+1 {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// judge returns the code of the error that answers a line, or 0.
func (s *screen) judge(line []byte, long bool) (code int, why string) {
	switch {
	case long:
		return jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line has more than %d bytes", s.max)
	case len(line) == 0:
		return 0, ""
	case !json.Valid(line):
		return jsonrpc.CodeParseError, "the line is not JSON"
	}
	if why := tooMany(line); why != "" {
		return jsonrpc.CodeInvalidRequest, why
	}
	return 0, ""
}

// A lineWriter writes whole lines: those of the SDK, and refusals between them.
type lineWriter struct {
	mu sync.Mutex
	to output
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

func (w *lineWriter) Close() error { return nil }

// refuse answers input that has no identifier to answer to.
func (w *lineWriter) refuse(code int, why string) error {
	_, err := w.Write(append(refusal(code, why), '\n'))
	return err
}

// refusal is the answer to input that has no identifier.
func refusal(code int, why string) []byte {
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, // plain values always have JSON
		"error": jsonrpc.Error{Code: int64(code), Message: why}})
	return text
}

// output writes until the server ends. A write that blocks then is given up:
// only its own goroutine waits for it, until the client reads or the process
// ends.
type output struct {
	to   io.Writer
	over <-chan struct{}
}

var errOver = errors.New("mcpadapter: the server has ended, and the client did not read")

func (o output) Write(p []byte) (int, error) {
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	text := bytes.Clone(p) // the caller may use p again after giving up
	go func() {
		n, err := o.to.Write(text)
		done <- written{n, err}
	}()
	select {
	case w := <-done:
		return w.n, w.err
	case <-o.over:
	}
	select {
	case w := <-done: // it was written at the same moment
		return w.n, w.err
	default:
		return 0, errOver
	}
}
