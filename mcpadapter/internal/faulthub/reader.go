//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package faulthub

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
)

// QueueSize is how many notifications wait for a session that reads slowly.
const QueueSize = 256

// A reader sends notifications to one session, on one goroutine: a send blocks
// while the client does not read, and surely ends only with the session.
type reader struct {
	session *mcp.ServerSession
	queue   chan func()   // sends one notification
	gone    chan struct{} // closed when the session has ended

	mu            sync.Mutex
	subscriptions []*subscription
	unreported    map[string]uint64 // drops not yet reported to the session, by subscription
	updating      bool              // an update of the resource is in the queue
}

func newReader(session *mcp.ServerSession) *reader {
	return &reader{session: session, queue: make(chan func(), QueueSize), gone: make(chan struct{}),
		unreported: make(map[string]uint64)}
}

// run sends until the session ends.
func (r *reader) run() {
	for {
		select {
		case <-r.gone:
			return
		case send := <-r.queue:
			send()
			r.reportDrops()
		}
	}
}

func (r *reader) add(s *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = append(r.subscriptions, s)
}

// remove removes a subscription, and returns its caller.
func (r *reader) remove(id string) (caller string, removed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscriptions = slices.DeleteFunc(r.subscriptions, func(s *subscription) bool {
		if s.id == id {
			caller, removed = s.caller, true
		}
		return s.id == id
	})
	delete(r.unreported, id)
	return caller, removed
}

// offer queues a notification for each subscription that wants the event. If
// the queue is full, it drops and counts it.
func (r *reader) offer(e *chaos.Event, armed time.Time, cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.subscriptions {
		if !s.wants(e) {
			continue
		}
		origin := Origin{SubscriptionID: s.id, Cluster: cluster, Armed: armed}
		var data any = NewNested(*e, origin)
		if s.mode == modeResourceFaults {
			data = NewFlat(*e, origin)
		}
		level := levelOf(Severity(*e))
		select {
		case r.queue <- func() { r.send(level, loggerPrefix+s.mode, data) }:
			s.delivered++
		default:
			s.dropped++
			r.unreported[s.id]++
		}
	}
}

// update queues a notification that a resource has changed, unless one waits
// already: the client will then read the current state.
func (r *reader) update(send func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.updating {
		return
	}
	select {
	case r.queue <- func() {
		r.mu.Lock()
		r.updating = false
		r.mu.Unlock()
		send()
	}:
		r.updating = true
	default: // what fills the queue is about the same faults
	}
}

// send passes a message to the SDK, which drops it if the client has not asked
// for that level. A session that has ended gets nothing.
func (r *reader) send(level mcp.LoggingLevel, logger string, data any) {
	_ = r.session.Log(context.Background(), &mcp.LoggingMessageParams{Level: level, Logger: logger, Data: data})
}

// dropped is the notification of how many events a subscriber was too slow for.
type dropped struct {
	SubscriptionID string `json:"subscriptionId"`
	Error          string `json:"error"`
	Degraded       bool   `json:"degraded"`
	Dropped        uint64 `json:"dropped"`
}

// reportDrops sends the session the number of its drops, once it reads again.
func (r *reader) reportDrops() {
	r.mu.Lock()
	missed := r.unreported
	if len(missed) == 0 || len(r.queue) > QueueSize/2 { // it has not caught up
		r.mu.Unlock()
		return
	}
	r.unreported = make(map[string]uint64)
	r.mu.Unlock()
	for id, n := range missed {
		r.send("error", LoggerProblem,
			dropped{id, fmt.Sprintf("%d events were dropped because they were read too slowly", n), true, n})
	}
}

// levelOf is the level of a message about a fault of that severity.
func levelOf(severity string) mcp.LoggingLevel { return mcp.LoggingLevel(severity) }
