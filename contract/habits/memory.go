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

// MemoryOptions are the settings of [RememberReads] and [StopWhenFinal]; nil and the zero value work.
type MemoryOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
	// For is how long an answer is remembered, above 0; 0: a minute of [RememberReads], ten minutes of
	// [StopWhenFinal].
	For time.Duration
	// Most is the number of answers that are kept, above 0; 0: 1000. More, and all are forgotten.
	Most int
}

// RememberReads answers a call of a tool that is declared to change nothing with the result of the last call with
// equal arguments, if that succeeded. All results are forgotten when a call begins or ends that is not declared to
// change nothing.
//
// Name: remembered-reads.
func RememberReads(o *MemoryOptions) *Habit {
	return memoryHabit(o, time.Minute, rankMemory, &Habit{
		Name: "remembered-reads", Does: "remembering equal reads",
		Assumes: "what the reads return is changed by the agent's own calls alone, or may be as old as the memory",
		abstains: func(t *chaos.Tool, _ []chaos.Tool) string {
			if t.Effect != chaos.EffectNone {
				return "not declared to change nothing"
			}
			return ""
		},
	}, (*memory).reads)
}

// StopWhenFinal does not call again, with equal arguments, what failed in a way that no retry overcomes: the caller
// gets the same failure. It is forgotten when another call succeeds that is not declared to change nothing.
//
// Name: stop-when-permanent.
func StopWhenFinal(o *MemoryOptions) *Habit {
	return memoryHabit(o, 10*time.Minute, rankFinal, &Habit{
		Name: "stop-when-permanent", Does: "stopping after a permanent failure",
		Assumes: "a failure whose words or status say that it is permanent lasts until the agent changes something, " +
			"or until the memory ends",
		abstains: func(*chaos.Tool, []chaos.Tool) string { return "" },
	}, (*memory).refusals)
}

func memoryHabit(o *MemoryOptions, usual time.Duration, at rank, h *Habit,
	handle func(*memory, context.Context, *call, caller) (json.RawMessage, error)) *Habit {
	m := memory{life: usual, most: 1000}
	if o != nil {
		m.life, m.most, h.tools = cmp.Or(o.For, m.life), cmp.Or(o.Most, m.most), o.Tools
		h.demand(m.life > 0, "For", o.For, "more than 0, or 0 for "+usual.String())
		h.demand(m.most > 0, "Most", o.Most, "more than 0, or 0 for 1000")
	}
	h.rank = at
	life, most := m.life, m.most
	h.start = func(*Habit) handler {
		m := &memory{life: life, most: most, known: map[operation]remembered{}}
		return func(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
			return handle(m, ctx, c, next)
		}
	}
	return h
}

// demand notes what is wrong with an option.
func (h *Habit) demand(ok bool, field string, value any, allowed string) {
	if !ok && h.wrong == "" {
		h.wrong = fmt.Sprintf("%s is %v; allowed: %s", field, value, allowed)
	}
}

// A memory has answers of calls.
type memory struct {
	life time.Duration
	most int

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

// recall returns what is remembered of an operation, and the state of the memory.
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
	if m.changes != changes || m.running > 0 {
		return
	}
	if len(m.known) >= m.most {
		clear(m.known)
	}
	m.known[op] = remembered{bytes.Clone(result), err, time.Now().Add(m.life)}
}

// forget drops all, when a number of calls begin (1), end (-1), or ended (0) that may change something.
func (m *memory) forget(running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
	m.changes++
	m.running += running
}

func (m *memory) reads(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	if !c.reads() {
		m.forget(1)
		defer m.forget(-1)
	}
	if !c.acts {
		return c.pass(ctx, next)
	}
	op := c.operation()
	r, ok, changes := m.recall(op)
	if ok {
		return bytes.Clone(r.result), nil
	}
	result, err := c.pass(ctx, next)
	if err == nil && failureOf(result, nil) == nil {
		m.keep(op, result, nil, changes)
	}
	return result, err
}

func (m *memory) refusals(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	op := c.operation()
	r, ok, changes := m.recall(op)
	if ok && c.acts {
		if r.err != nil {
			r.err = fmt.Errorf("not called again: %w", r.err)
		}
		return bytes.Clone(r.result), r.err
	}
	result, err := c.pass(ctx, next)
	switch f := failureOf(result, err); {
	case f == nil && !c.reads():
		m.forget(0)
	case f != nil && f.class == retryable.Permanent && c.acts:
		m.keep(op, result, err, changes)
	}
	return result, err
}
