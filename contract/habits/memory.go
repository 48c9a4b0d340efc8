package habits

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// MemoryOptions are the settings of [RememberReads] and [StopWhenPermanent]; nil and the zero value work.
type MemoryOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
	// For is how long an answer is remembered; 0: a minute.
	For time.Duration
}

// RememberReads answers a call of a tool that is declared to change nothing with the result of the last equal call, if
// that succeeded. All results are forgotten when a call of another tool begins or ends. The name is "remembered-reads".
func RememberReads(o *MemoryOptions) *Habit {
	return memoryHabit(o, (*memory).reads, &Habit{
		Name: "remembered-reads", Does: "remembering equal reads",
		Assumes: "what a read returns is changed by the agent's own calls alone, or may be as old as the memory",
		rank:    rankMemory,
		abstains: func(t *chaos.Tool, _ []chaos.Tool) (f facts, why string) {
			if t.Effect != chaos.EffectNone {
				why = "it is not declared to change nothing"
			}
			return f, why
		},
	})
}

// StopWhenPermanent does not make a call again that failed in a way that no retry overcomes: equal calls get the same
// failure. All failures are forgotten when a call succeeds of a tool that is not declared to change nothing. The name
// is "stop-when-permanent".
func StopWhenPermanent(o *MemoryOptions) *Habit {
	return memoryHabit(o, (*memory).refusals, &Habit{
		Name: "stop-when-permanent", Does: "stopping after a permanent failure",
		Assumes: "a failure that is permanent by its words or status lasts until the agent changes something",
		rank:    rankStop, abstains: all,
	})
}

func memoryHabit(o *MemoryOptions, handle func(*memory, context.Context, *call) (json.RawMessage, error),
	h *Habit) *Habit {
	given := or(o)
	notNegative(h, "For", given.For)
	h.watches = true // what changes something is forgotten for
	h.start = func() handler {
		m := &memory{life: cmp.Or(given.For, time.Minute), known: map[operation]remembered{}}
		return func(ctx context.Context, c *call) (json.RawMessage, error) { return handle(m, ctx, c) }
	}
	return h.on(given.Tools)
}

// A memory has answers of calls.
type memory struct {
	life time.Duration

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
		m.known[op] = remembered{bytes.Clone(result), err, time.Now().Add(m.life)}
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
