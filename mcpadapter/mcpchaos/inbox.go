package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/shakedown-go/shakedown/chaos"
)

// item is a message on its way to the reader: decoded, or as a line.
type item struct {
	msg  jsonrpc.Message
	line string
}

// Read returns the next message, or a line that replaces one. As in the SDK,
// only one goroutine reads.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.ready) == 0 {
		if c.broken != nil {
			return nil, c.broken
		}
		msg, err := c.Connection.Read(ctx)
		if c.life.Err() != nil {
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		if c.broken = c.take(msg); c.broken != nil {
			return nil, c.broken
		}
	}
	first := c.ready[0]
	c.ready = c.ready[1:]
	return c.decode(first)
}

// take passes a message through its injection point to what is ready.
func (c *conn) take(msg jsonrpc.Message) error {
	if _, asked := msg.(*jsonrpc.Request); asked && c.idle(c.base) {
		c.ready = append(c.ready, item{msg: msg})
		return nil
	}
	req := c.belongs(msg, c.heard, c.sent, c.base)
	ctx, cancel := context.WithCancel(req.ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)() // a closed connection ends the waits of faults
	lines, whole, err := c.cross(ctx, atReceive+req.path, req.key, Message{}, msg)
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, chaos.ErrCellEnded):
		return err
	case err == nil && !whole:
		for _, line := range lines {
			c.ready = append(c.ready, item{line: line})
		}
	default: // if the caller has gone, or its cell has ended, the answer is treated like every late answer
		c.ready = append(c.ready, item{msg: msg})
	}
	return nil
}

// decode reads a line as the SDK's transports do: a line that is no message, or
// is too long, ends the connection.
func (c *conn) decode(i item) (jsonrpc.Message, error) {
	if i.msg != nil {
		return i.msg, nil
	}
	if c.o.MaxLine > 0 && len(i.line) > c.o.MaxLine {
		return nil, fmt.Errorf("message of %d bytes exceeds the maximum line length of %d", len(i.line), c.o.MaxLine)
	}
	var doc json.RawMessage
	if err := json.Unmarshal([]byte(i.line), &doc); err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(doc)
}
