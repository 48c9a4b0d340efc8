// Package faulthub notifies the sessions of an MCP server of delivered faults: by
// messages to those that subscribed, and by a resource of the latest faults.
package faulthub

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// How many subscriptions there may be.
const (
	SessionLimit = 10
	ServerLimit  = 100
)

// The modes of a subscription, and the loggers of their notifications.
const (
	ModeFaults         = "faults"
	modeResourceFaults = "resource-faults"
	loggerPrefix       = "chaos/"
	LoggerProblem      = "chaos/subscription_error"
)

// codeTooMany is the code of a refusal for the number of subscriptions.
const codeTooMany = "too_many_subscriptions"

// A Hub notifies sessions of delivered faults. Each session has a reader of its
// own, so a slow or dead session does not delay the others.
type Hub struct {
	name     string // of the server
	injector *chaos.Injector
	log      faultLog

	mu      sync.Mutex
	readers map[*mcp.ServerSession]*reader
	total   int // subscriptions

	ofCaller    map[string]int // subscriptions, by subject
	callerLimit int
	closed      bool
	ended       sync.WaitGroup // of the readers
}

// New returns the hub of a server's injector. callerLimit is how many subscriptions
// one caller may have.
func New(name string, in *chaos.Injector, callerLimit int) *Hub {
	return &Hub{name: name, injector: in, readers: make(map[*mcp.ServerSession]*reader), ofCaller: make(map[string]int),
		callerLimit: callerLimit}
}

// subscription is one subscription of a session.
type subscription struct {
	id      string
	mode    string
	caller  string // subject
	filters Filters
	created time.Time

	target             *glob.Glob // of filters.Target; nil: every one
	delivered, dropped uint64     // guarded by the hub
}

// Filters narrow a subscription; what is left out narrows nothing.
type Filters struct {
	Target      string `json:"target,omitempty" jsonschema:"only injection points that match this glob; * crosses slashes, {a,b} are alternatives" len:"1,256"`
	MinSeverity string `json:"minSeverity,omitempty" jsonschema:"only faults at least this bad: warning for a delay or a changed result, error for a failure, critical for a panic" enum:"info,warning,error,critical"`
}

// wants reports whether a subscription includes an event.
func (s *subscription) wants(e *chaos.Event) bool {
	return (s.target == nil || s.target.Match(e.Target)) && rank(Severity(*e)) >= rank(s.filters.MinSeverity)
}

// rank orders the severities; an unknown one is the lowest.
func rank(severity string) int {
	return slices.Index([]string{"info", "warning", "error", "critical"}, severity)
}

// Publish passes an event to every reader that wants it. It does not block.
func (h *Hub) Publish(e chaos.Event) {
	armed := time.Now().Add(-h.injector.Elapsed())
	h.log.add(NewFlat(e, Origin{Cluster: h.name, Armed: armed}))
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.readers {
		r.offer(&e, armed, h.name)
	}
}

// A Subscription is what clients see of one.
type Subscription struct {
	SubscriptionID string    `json:"subscriptionId"`
	Mode           string    `json:"mode" enum:"faults,resource-faults"`
	Filters        Filters   `json:"filters" jsonschema:"as they are in force; empty: everything"`
	CreatedAt      time.Time `json:"createdAt"`
	Logger         string    `json:"logger" jsonschema:"logger of the notifications/message that will come"`
	Delivered      uint64    `json:"delivered" jsonschema:"notifications queued for this session so far"`
	Dropped        uint64    `json:"dropped" jsonschema:"notifications that this session was too slow for"`
}

// view describes a subscription. The hub's lock is held: events count in it.
func (s *subscription) view() Subscription {
	return Subscription{s.id, s.mode, s.filters, s.created.UTC(), loggerPrefix + s.mode, s.delivered, s.dropped}
}

// Subscribe adds a subscription of a caller, by its subject, to a session, and describes it as
// it is before its first event. An empty mode is [ModeFaults]. The error is a [*policy.Error].
func (h *Hub) Subscribe(session *mcp.ServerSession, caller, mode string, filters Filters) (Subscription, error) {
	s := &subscription{mode: cmp.Or(mode, ModeFaults), caller: caller, filters: filters, created: time.Now()}
	if filters.Target != "" {
		pattern, err := glob.Compile(filters.Target)
		if err != nil {
			return Subscription{}, refusal(http.StatusBadRequest, policy.CodeInvalidArguments, "target: "+err.Error(),
				"Correct the glob: * for any text, ? for one character, {a,b} for alternatives.")
		}
		s.target = pattern
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r := h.readers[session]; {
	case h.closed:
		return Subscription{}, refusal(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down",
			"Connect again when it is back.")
	case h.total >= ServerLimit:
		return Subscription{}, tooMany("the server", h.total,
			"Try again when other clients have unsubscribed, or read the resource "+URI+".")
	case r != nil && len(r.subscriptions) >= SessionLimit:
		return Subscription{}, tooMany("this session", len(r.subscriptions),
			"Unsubscribe from one; events_list_subscriptions lists them. A wider filter replaces several.")
	case h.ofCaller[s.caller] >= h.callerLimit:
		return Subscription{}, tooMany("this caller", h.ofCaller[s.caller],
			"Unsubscribe from one, or end a session that is not needed.")
	}
	s.id = "sub-" + rand.Text()
	h.reader(session).add(s)
	h.count(s.caller, 1)
	return s.view(), nil
}

func refusal(status int, code, detail, hint string) error {
	return &policy.Error{Status: status, Code: code, Detail: detail, Hint: hint}
}

func tooMany(who string, has int, hint string) error {
	return refusal(http.StatusTooManyRequests, codeTooMany,
		fmt.Sprintf("%s has %d subscriptions, the most there may be", who, has), hint)
}

// Unsubscribe removes a subscription of a session, and reports whether there
// was one.
func (h *Hub) Unsubscribe(session *mcp.ServerSession, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.readers[session]
	if r == nil {
		return false
	}
	caller, removed := r.remove(id)
	if removed {
		h.count(caller, -1)
	}
	return removed
}

// count adds n subscriptions to a caller. h.mu is held.
func (h *Hub) count(caller string, n int) {
	h.total += n
	if h.ofCaller[caller] += n; h.ofCaller[caller] == 0 {
		delete(h.ofCaller, caller)
	}
}

// reader returns the reader of a session, which it makes if there is none. h.mu
// is held.
func (h *Hub) reader(session *mcp.ServerSession) *reader {
	r := h.readers[session]
	if r == nil {
		r = newReader(session)
		h.readers[session] = r
		h.ended.Go(r.run)
		h.ended.Go(func() {
			_ = session.Wait() // however it ended
			h.leave(session)
		})
	}
	return r
}

// leave removes a session that has ended.
func (h *Hub) leave(session *mcp.ServerSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.readers[session]; r != nil {
		for _, s := range r.subscriptions {
			h.count(s.caller, -1)
		}
		delete(h.readers, session)
		close(r.gone)
	}
}

// Close refuses further subscriptions. The readers end with their sessions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// Wait waits until all sessions have ended.
func (h *Hub) Wait() { h.ended.Wait() }

// List returns the subscriptions of a session, oldest first, and how many all
// sessions have.
func (h *Hub) List(session *mcp.ServerSession) (own []Subscription, total int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own = []Subscription{}
	r := h.readers[session]
	if r == nil {
		return own, h.total
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.subscriptions {
		own = append(own, s.view())
	}
	return own, h.total
}
