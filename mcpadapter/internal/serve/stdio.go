package serve

import (
	"bufio"
	"bytes"
	"cmp"
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
// The SDK's own transport ends the session at the first line that is no message. This
// one answers such lines, and those of more than max bytes. The messages of a batch,
// which revision 2025-03-26 has, are answered one by one.
func Stdio(in io.ReadCloser, out io.Writer, over <-chan struct{}, max int) mcp.Transport {
	return &lines{in: in, max: max, out: out, over: over, messages: make(chan jsonrpc.Message),
		closed: make(chan struct{})}
}

// lines are a transport and its connection.
type lines struct {
	in   io.ReadCloser
	max  int // bytes of a line
	over <-chan struct{}

	writing sync.Mutex
	out     io.Writer

	messages chan jsonrpc.Message // closed when the input has ended
	ended    error                // why it has
	closing  sync.Once
	closed   chan struct{}
}

func (c *lines) Connect(context.Context) (mcp.Connection, error) {
	go c.run()
	return c, nil
}

func (c *lines) SessionID() string { return "" }

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case m, ok := <-c.messages:
		if ok {
			return m, nil
		}
	case <-c.closed:
	}
	select {
	case <-c.closed: // whatever the input says to that
		return nil, io.EOF
	default:
		return nil, c.ended
	}
}

// run reads messages, and answers lines that are none, until the input ends or the
// connection is closed.
func (c *lines) run() {
	defer close(c.messages)
	in := bufio.NewReader(c.in)
	for c.ended == nil {
		line, long, err := nextLine(in, c.max)
		texts, code, why := judge(bytes.TrimSpace(line), long, c.max)
		if code != 0 {
			err = cmp.Or(c.put(refusal(code, why)), err)
		}
		for _, text := range texts {
			m, wrong := jsonrpc.DecodeMessage(text)
			if wrong != nil {
				err = cmp.Or(c.put(refusal(jsonrpc.CodeInvalidRequest, wrong.Error())), err)
				continue
			}
			select {
			case c.messages <- m:
			case <-c.closed:
				return
			}
		}
		c.ended = err
	}
}

// nextLine reads a line. One that is too long is not kept.
func nextLine(in *bufio.Reader, max int) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > max+1 {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// judge returns what may be the messages of a line, or the code of the error that
// answers it.
func judge(line []byte, long bool, max int) (messages []json.RawMessage, code int, why string) {
	switch {
	case long:
		return nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line has more than %d bytes", max)
	case len(line) == 0:
		return nil, 0, ""
	case !json.Valid(line):
		return nil, jsonrpc.CodeParseError, "the line is not JSON"
	case line[0] != '[':
		return []json.RawMessage{line}, 0, ""
	}
	if why := tooMany(line); why != "" {
		return nil, jsonrpc.CodeInvalidRequest, why
	}
	if _ = json.Unmarshal(line, &messages); len(messages) == 0 {
		return nil, jsonrpc.CodeInvalidRequest, "the batch has no messages"
	}
	return messages, 0, ""
}

func (c *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.put(text)
}

func (c *lines) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.in.Close()
}

// refusal is the answer to input that has no identifier.
func refusal(code int, why string) []byte {
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, // plain values always have JSON
		"error": jsonrpc.Error{Code: int64(code), Message: why}})
	return text
}

var errOver = errors.New("mcpadapter: the server has ended, and the client did not read")

// put writes a line. A write that blocks when the server ends is given up: only its own
// goroutine waits for it, until the client reads or the process ends.
func (c *lines) put(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := c.out.Write(append(text, '\n'))
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-c.over:
	}
	select {
	case err := <-done: // it was written at the same moment
		return err
	default:
		return errOver
	}
}
