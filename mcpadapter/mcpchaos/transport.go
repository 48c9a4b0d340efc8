package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// Transport makes every message that crosses a transport an injection point:
// see the targets of the package. The result of the call at such a point is
// []string: the lines, each a message in JSON, that replace the message.
//
// It fits transports that carry lines: in memory, over standard input and
// output, to a command, also server-sent events. The SDK's streamable HTTP
// learns what was negotiated in a way that no wrapper can pass on: use
// middleware there, or break HTTP itself.
//
// A line that is no message cannot be sent through the SDK's transports. Faults
// that make such lines apply to received messages, so wrap the end that reads.
func Transport(inner mcp.Transport, o *Options) mcp.Transport {
	return &transport{inner, o}
}

type transport struct {
	inner   mcp.Transport
	options *Options // nil: the zero value
}

// Connect connects the inner transport.
func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Connection: inner, o: t.options, base: context.WithoutCancel(ctx),
		sent: make(requests), heard: make(requests)}
	c.life, c.end = context.WithCancel(c.base)
	return c, nil
}

// A Message is the arguments at the injection points of a transport, for custom
// faults and triggers. As JSON it is its text.
type Message struct {
	Text json.RawMessage
	Sent bool // else received
}

// MarshalJSON returns the text.
func (m Message) MarshalJSON() ([]byte, error) { return m.Text, nil }

// request is a request that waits for its response. Its context has the
// injector, the lane and the deadline of the caller.
type request struct {
	place
	ctx context.Context
}

type requests map[jsonrpc.ID]request

// maxRequests bounds what is remembered of requests that get no response.
const maxRequests = 4096

func (r requests) add(id jsonrpc.ID, req request) {
	for old := range r {
		if len(r) < maxRequests {
			break
		}
		delete(r, old)
	}
	r[id] = req
}

// conn is a wrapped connection.
type conn struct {
	mcp.Connection
	o    *Options
	base context.Context // that of Connect, without its end
	life context.Context // ends with the connection
	end  context.CancelFunc

	mu    sync.Mutex
	sent  requests // by this end
	heard requests

	ready  []item // of Read alone: what has arrived and was not read yet
	broken error  // likewise: what a fault broke the connection with
}

// belongs returns what a message is about, and the context that it belongs to.
func (c *conn) belongs(msg jsonrpc.Message, own, theirs requests, ctx context.Context) request {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := msg.(type) {
	case *jsonrpc.Request:
		req := request{placeOf(m.Method, m.Params), ctx}
		if m.IsCall() {
			own.add(m.ID, req)
		}
		return req
	case *jsonrpc.Response:
		if req, ok := theirs[m.ID]; ok {
			delete(theirs, m.ID)
			return req
		}
	}
	return request{place{path: "response"}, ctx}
}

// idle reports whether no injector applies to a message of that context or to
// its response.
func (c *conn) idle(ctx context.Context) bool {
	return c.o.injector(ctx) == nil && chaos.FromContext(c.base) == nil
}

// cross passes a message through its injection point and returns the lines that
// replace it. If whole is set, the message itself goes on.
func (c *conn) cross(ctx context.Context, target string, key uint64, m Message,
	msg jsonrpc.Message) (lines []string, whole bool, err error) {
	in := c.o.injector(ctx)
	if in == nil {
		return nil, true, nil
	}
	if m.Text, err = jsonrpc.EncodeMessage(msg); err != nil {
		return nil, true, nil // the transport says so itself
	}
	reached := 0
	call := chaos.WrapWith(target, func(_ context.Context, m Message) ([]string, error) {
		reached++
		return []string{string(m.Text)}, nil
	}, &chaos.WrapOptions[Message]{Injector: in, Key: func(Message) uint64 { return key }})
	lines, err = call(ctx, m)
	if err != nil {
		return nil, false, err
	}
	once := lines
	for range reached - 1 { // a fault that repeats the call repeats the message
		lines = append(lines, once...)
	}
	return lines, len(lines) == 1 && lines[0] == string(m.Text), nil
}

// codeRejected is the code with which a transport refuses one message: the SDK
// keeps the connection.
const codeRejected = -32005

// Write sends a message, or the lines that replace it.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if c.idle(ctx) {
		return c.Connection.Write(ctx, msg)
	}
	req := c.belongs(msg, c.sent, c.heard, ctx)
	lines, whole, err := c.cross(ctx, atSend+req.path, req.key, Message{Sent: true}, msg)
	switch {
	case errors.Is(err, chaos.ErrCellEnded): // refused, which must not break the connection for others
		return fmt.Errorf("%w: %w", err, &jsonrpc.Error{Code: codeRejected, Message: "rejected by transport"})
	case err != nil:
		return err
	case whole:
		return c.Connection.Write(ctx, msg)
	}
	for _, line := range lines {
		out, err := jsonrpc.DecodeMessage([]byte(line))
		if err != nil {
			return err // only a fault of the user's own makes such a line
		}
		if err := c.Connection.Write(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connection and ends the waits of faults on it.
func (c *conn) Close() error {
	c.end()
	return c.Connection.Close()
}

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

// decode reads a line as the SDK's transports do: a line that is no message ends
// the connection.
func (c *conn) decode(i item) (jsonrpc.Message, error) {
	if i.msg != nil {
		return i.msg, nil
	}
	var doc json.RawMessage
	if err := json.Unmarshal([]byte(i.line), &doc); err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(doc)
}
