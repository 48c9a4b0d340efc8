package habits

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// RememberReads answers a call of a tool that is declared to change nothing with the result of the last equal call, if
// that succeeded (For). All results are forgotten when a call of another tool begins or ends. The name is
// "remembered-reads".
func RememberReads(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "remembered-reads", Does: "remembering equal reads",
		Assumes: "what a read returns is changed by the agent's own calls alone, or may be as old as the memory",
		rank:    rankMemory,
		on: func(_ *facts, t *chaos.Tool, _ []chaos.Tool) string {
			if t.Effect != chaos.EffectNone {
				return "it is not declared to change nothing"
			}
			return ""
		},
		watches: true, start: func(o Options) handler { return remembering(o).reads },
		options: Options{For: time.Minute},
	})
}

// StopWhenPermanent does not make a call again that failed in a way that no retry overcomes: equal calls get the same
// failure (For). All failures are forgotten when a call succeeds of a tool that is not declared to change nothing. The
// name is "stop-when-permanent".
func StopWhenPermanent(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "stop-when-permanent", Does: "stopping after a permanent failure",
		Assumes: "a failure that is permanent by its words or status lasts until the agent changes something",
		rank:    rankStop, on: anyTool,
		watches: true, start: func(o Options) handler { return remembering(o).refusals },
		options: Options{For: time.Minute},
	})
}

// A memory has answers of calls.
type memory struct {
	Options
	mu      sync.Mutex
	known   map[operation]remembered
	running int    // calls that may change something
	changes uint64 // how often all was forgotten
}

type remembered struct {
	result json.RawMessage
	err    error
	until  time.Time
}

func remembering(o Options) *memory { return &memory{Options: o, known: map[operation]remembered{}} }

// recall returns what is remembered of an operation, and the number of changes so far.
func (m *memory) recall(op operation) (r remembered, ok bool, changes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.known[op]
	return r, ok && time.Now().Before(r.until), m.changes
}

// keep remembers an answer, unless something may have changed since the call began.
func (m *memory) keep(op operation, result json.RawMessage, err error, changes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes == changes && m.running == 0 {
		m.known[op] = remembered{bytes.Clone(result), err, time.Now().Add(m.For)}
	}
}

// forget drops all. more is the number by which the calls that may change something have become more.
func (m *memory) forget(more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
	m.changes++
	m.running += more
}

func (m *memory) reads(ctx context.Context, c *call) (json.RawMessage, error) {
	if !c.changesNothing() {
		m.forget(1)
		defer m.forget(-1)
	}
	op := c.operation()
	r, ok, changes := m.recall(op)
	if ok {
		return bytes.Clone(r.result), nil
	}
	result, err := c.pass(ctx)
	if c.acts && failureOf(result, err) == nil {
		m.keep(op, result, nil, changes)
	}
	return result, err
}

func (m *memory) refusals(ctx context.Context, c *call) (json.RawMessage, error) {
	op := c.operation()
	r, ok, changes := m.recall(op)
	switch {
	case ok && r.err == nil:
		return bytes.Clone(r.result), nil
	case ok:
		return nil, fmt.Errorf("not called again: %w", r.err)
	}
	result, err := c.pass(ctx)
	switch f := failureOf(result, err); {
	case f == nil && !c.changesNothing():
		m.forget(0)
	case f != nil && f.class == retryable.Permanent && c.acts:
		m.keep(op, result, err, changes)
	}
	return result, err
}
