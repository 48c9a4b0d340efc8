package habits

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
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
		start: func(o Options) state {
			m := remembering(o)
			good := func(f *failed) bool { return f == nil }
			s := onEffect(chaos.EffectNone, "it is not declared to change nothing", m.answering(m.change, good))
			s.watch = m.change
			return s
		},
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
		rank:    rankStop,
		start: func(o Options) state {
			m := remembering(o)
			final := func(f *failed) bool { return f != nil && f.class == retryable.Permanent }
			s := onAny(m.answering(m.success, final))
			s.watch = m.success
			return s
		},
		options: Options{For: time.Minute},
	})
}

// A memory has answers of calls.
type memory struct {
	Options
	mu      sync.Mutex
	known   map[operation]remembered
	most    int    // drop what is out of date when there are more
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
	if m.changes != changes || m.running > 0 {
		return
	}
	now := time.Now()
	m.known[op] = remembered{bytes.Clone(result), err, now.Add(m.For)}
	if len(m.known) > m.most {
		maps.DeleteFunc(m.known, func(_ operation, r remembered) bool { return !now.Before(r.until) })
		m.most = max(64, 2*len(m.known)) // so that each call drops one in the mean
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

// change forgets all when a call that may change something begins and ends.
func (m *memory) change(ctx context.Context, c *call) (json.RawMessage, error) {
	if !c.changesNothing() {
		m.forget(1)
		defer m.forget(-1)
	}
	return c.pass(ctx)
}

// success forgets all when a call succeeds that may have changed something.
func (m *memory) success(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	if !c.changesNothing() && failureOf(result, err) == nil {
		m.forget(0)
	}
	return result, err
}

// answering returns a handler that answers from memory, or makes the call and remembers the answers to keep.
func (m *memory) answering(pass handler, keeps func(*failed) bool) handler {
	return func(ctx context.Context, c *call) (json.RawMessage, error) {
		op := c.operation()
		r, ok, changes := m.recall(op)
		switch {
		case ok && r.err == nil:
			return bytes.Clone(r.result), nil
		case ok:
			return nil, fmt.Errorf("not called again: %w", r.err)
		}
		result, err := pass(ctx, c)
		if keeps(failureOf(result, err)) {
			m.keep(op, result, err, changes)
		}
		return result, err
	}
}

// OneAtATime makes no two equal calls at once of a tool that is declared to have an effect: the second waits, and gets
// the answer of the first. If the caller of the first gave up, or the tool panicked, there is none, and the second
// call is made. One that a tool makes during its work waits only for others of the same work: two tools that call each
// other would wait for ever. The name is "one-at-a-time".
func OneAtATime(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "one-at-a-time", Does: "no two equal effects at once",
		Assumes: "an agent that asks twice for the same effect at the same time wants it once",
		rank:    rankSingle,
		start: func(Options) state {
			return onEffect(chaos.EffectDone, noEffect, (&turns{held: map[operation]*turn{}}).single)
		},
	})
}

// turns lets one call at a time work for each operation.
type turns struct {
	mu   sync.Mutex
	held map[operation]*turn
}

// A turn is that of one call.
type turn struct {
	work     any           // during which the call is made: see during
	within   atomic.Bool   // another work has made a call about the same thing
	over     chan struct{} // closed when it has ended; what follows is set by then
	answered bool
	result   json.RawMessage
	err      error
}

// begin returns a turn of the caller (mine), once no other call has it, or that of another call which was answered
// meanwhile. It returns nil for a call that a tool makes during its work if a call outside of it has the turn: that one
// may wait for this work. A wait for calls of the same work, or of none for any, cannot go round in a circle. The error
// is that of a context that ends first.
func (t *turns) begin(ctx context.Context, op operation) (of *turn, mine bool, err error) {
	work := ctx.Value(during{})
	for {
		t.mu.Lock()
		other := t.held[op]
		if other == nil {
			of = &turn{work: work, over: make(chan struct{})}
			t.held[op] = of
		}
		t.mu.Unlock()
		if other == nil {
			return of, true, nil
		}
		if work != nil && work != other.work {
			other.within.Store(true)
			return nil, false, nil
		}
		select {
		case <-other.over:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if other.answered {
			return other, false, nil
		}
	}
}

func (t *turns) end(op operation, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, op)
	close(mine.over)
}

func (t *turns) single(ctx context.Context, c *call) (json.RawMessage, error) {
	op := c.operation()
	turn, mine, err := t.begin(ctx, op)
	switch {
	case err != nil:
		return nil, err
	case turn == nil:
		return c.pass(ctx)
	case mine:
		defer t.end(op, turn)
		turn.result, turn.err = c.pass(ctx)
		turn.answered = turn.err == nil || ctx.Err() == nil
	}
	return bytes.Clone(turn.result), turn.err
}
