package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/shakedown-go/shakedown/chaos"
)

// arrival is a return value of the inner connection's Read.
type arrival struct {
	msg jsonrpc.Message
	err error
}

// item is a message on its way to the reader: decoded, or as a line.
type item struct {
	msg  jsonrpc.Message
	line string
}

// postponement says how many later messages a message lets pass, and for how long
// it waits for them at most.
type postponement struct {
	behind int
	atMost time.Duration
}

// held is a message that waits for behind later messages, or until the time until.
type held struct {
	items  []item
	behind int
	until  time.Time
}

// inbox holds the messages that have arrived and were not read yet.
type inbox struct {
	ready []item
	held  []held
	err   error // of the connection: after all else
}

// put makes items ready, and then the held messages that have let enough others
// pass.
func (b *inbox) put(items []item) {
	b.ready = append(b.ready, items...)
	waiting := b.held
	b.held = nil
	for _, h := range waiting {
		if h.behind -= len(items); h.behind > 0 {
			b.held = append(b.held, h)
			continue
		}
		b.ready = append(b.ready, h.items...)
	}
}

// release makes those held messages ready whose time is over.
func (b *inbox) release(now time.Time) {
	b.held = slices.DeleteFunc(b.held, func(h held) bool {
		if now.Before(h.until) {
			return false
		}
		b.ready = append(b.ready, h.items...)
		return true
	})
}

// fail ends the inbox. Held messages become ready: no others will come.
func (b *inbox) fail(err error) {
	for _, h := range b.held {
		b.ready = append(b.ready, h.items...)
	}
	b.held, b.err = nil, err
}

// next removes and returns the first item that is ready.
func (b *inbox) next() (item, bool) {
	if len(b.ready) == 0 {
		return item{}, false
	}
	first := b.ready[0]
	b.ready = b.ready[1:]
	return first, true
}

// patience returns a channel that fires when the first held message has waited
// long enough, and a function that stops it.
func (b *inbox) patience() (<-chan time.Time, func() bool) {
	if len(b.held) == 0 {
		return nil, func() bool { return false }
	}
	first := slices.MinFunc(b.held, func(x, y held) int { return x.until.Compare(y.until) })
	timer := time.NewTimer(time.Until(first.until))
	return timer.C, timer.Stop
}

// Read returns the next message, or a line that replaces one. As in the SDK,
// only one goroutine reads.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	c.begin.Do(func() { c.pumps.Go(c.pump) })
	for {
		if next, ok := c.inbox.next(); ok {
			return c.decode(next)
		}
		if c.inbox.err != nil {
			return nil, c.inbox.err
		}
		late, stop := c.inbox.patience()
		select {
		case a := <-c.arrivals:
			c.take(a)
		case now := <-late:
			c.inbox.release(now)
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		case <-c.life.Done():
			stop()
			return nil, io.EOF
		}
		stop()
	}
}

// pump reads ahead by one message, so that held messages can become due while
// the inner connection is silent. Close ends it.
func (c *conn) pump() {
	for {
		msg, err := c.Connection.Read(c.life)
		select {
		case c.arrivals <- arrival{msg, err}:
		case <-c.life.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// take passes an arrival through its injection point into the inbox.
func (c *conn) take(a arrival) {
	if a.err != nil {
		c.inbox.fail(a.err)
		return
	}
	if _, asked := a.msg.(*jsonrpc.Request); asked && c.idle(c.base) {
		c.inbox.put([]item{{msg: a.msg}})
		return
	}
	req := c.belongs(a.msg, c.heard, c.sent, c.base)
	ctx, cancel := context.WithCancel(req.ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)() // a closed connection ends the waits of faults
	m := Message{postpone: new(postponement)}
	lines, whole, err := c.cross(ctx, atReceive+req.path, req.key, m, a.msg)
	items := []item{{msg: a.msg}}
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, chaos.ErrCellEnded):
		c.inbox.fail(err)
		return
	case err == nil && !whole:
		items = nil
		for _, line := range lines {
			items = append(items, item{line: line})
		}
	}
	// If the caller has gone, or its cell has ended, the answer is treated like every late answer.
	if m.postpone.behind > 0 {
		c.inbox.held = append(c.inbox.held, held{items, m.postpone.behind, time.Now().Add(m.postpone.atMost)})
		return
	}
	c.inbox.put(items)
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
