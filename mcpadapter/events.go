package mcpadapter

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
)

// How many subscriptions there may be.
const (
	sessionSubscriptions = 10
	serverSubscriptions  = 100
)

// The modes of a subscription, and the loggers of their notifications.
const (
	modeFaults         = "faults"
	modeResourceFaults = "resource-faults"
	loggerPrefix       = "chaos/"
	loggerProblem      = "chaos/subscription_error"
)

// A hub notifies sessions of delivered faults. Each session has a reader of its
// own, so a slow or dead session does not delay the others.
type hub struct {
	host Host
	log  faultLog

	mu      sync.Mutex
	readers map[*mcp.ServerSession]*reader
	total   int // subscriptions

	ofCaller    map[string]int // subscriptions, by subject
	callerLimit int
	closed      bool
	ended       sync.WaitGroup // of the readers
}

// subscription is one subscription of a session.
type subscription struct {
	id      string
	mode    string
	caller  string // subject
	filters filters
	created time.Time

	target             *glob.Glob // of filters.Target; nil: every one
	delivered, dropped uint64     // guarded by the hub
}

// filters narrow a subscription; what is left out narrows nothing.
type filters struct {
	Namespace   string `json:"namespace,omitempty" jsonschema:"only targets of this subsystem: the part of a name before the first dot" len:"1,256"`
	Target      string `json:"target,omitempty" jsonschema:"only injection points that match this glob; * crosses slashes, {a,b} are alternatives" len:"1,256"`
	FaultType   string `json:"faultType,omitempty" jsonschema:"only faults of this kind, such as error or latency" len:"1,256"`
	MinSeverity string `json:"minSeverity,omitempty" jsonschema:"only faults at least this bad: warning for a delay or a changed result, error for a failure, critical for a panic" enum:"info,warning,error,critical"`
}

// wants reports whether a subscription includes an event.
func (s *subscription) wants(e *chaos.Event) bool {
	f := &s.filters
	return (f.Namespace == "" || f.Namespace == faultevent.Namespace(*e)) &&
		(f.FaultType == "" || f.FaultType == e.Fault) &&
		(s.target == nil || s.target.Match(e.Target)) &&
		rank(faultevent.Severity(*e)) >= rank(f.MinSeverity)
}

// rank orders the severities; an unknown one is the lowest.
func rank(severity string) int {
	return slices.Index([]string{"info", "warning", "error", "critical"}, severity)
}

// publish passes an event to every reader that wants it. It does not block.
func (h *hub) publish(e chaos.Event) {
	armed := time.Now().Add(-h.host.Injector.Elapsed())
	h.log.add(faultevent.NewFlat(e, faultevent.Origin{Cluster: h.host.Name, Armed: armed}))
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.readers {
		r.offer(&e, armed, h.host.Name)
	}
}

// subscribe adds a subscription to a session, and describes it as it is before
// its first event.
func (h *hub) subscribe(session *mcp.ServerSession, s *subscription) (subscriptionOutput, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r := h.readers[session]; {
	case h.closed:
		return subscriptionOutput{}, &problem{http.StatusServiceUnavailable, codeClosing, "the server is shutting down", "Connect again when it is back."}
	case h.total >= serverSubscriptions:
		return subscriptionOutput{}, &problem{http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("the server has %d subscriptions, the most it keeps", h.total),
			"Try again when other clients have unsubscribed, or read the resource " + uriFaults + "."}
	case r != nil && len(r.subscriptions) >= sessionSubscriptions:
		return subscriptionOutput{}, &problem{http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("this session has %d subscriptions, the most it may have", len(r.subscriptions)),
			"Unsubscribe from one; events_list_subscriptions lists them. A wider filter replaces several."}
	case h.ofCaller[s.caller] >= h.callerLimit:
		return subscriptionOutput{}, &problem{http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("this caller has %d subscriptions in its sessions, the most it may have", h.ofCaller[s.caller]),
			"Unsubscribe from one, or end a session that is not needed."}
	}
	s.id = "sub-" + rand.Text()
	h.reader(session).add(s)
	h.count(s.caller, 1)
	return s.output(), nil
}

// unsubscribe removes a subscription of a session, and reports whether there
// was one.
func (h *hub) unsubscribe(session *mcp.ServerSession, id string) bool {
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
func (h *hub) count(caller string, n int) {
	h.total += n
	if h.ofCaller[caller] += n; h.ofCaller[caller] == 0 {
		delete(h.ofCaller, caller)
	}
}

// reader returns the reader of a session, which it makes if there is none. h.mu
// is held.
func (h *hub) reader(session *mcp.ServerSession) *reader {
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
func (h *hub) leave(session *mcp.ServerSession) {
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

// close refuses further subscriptions. The readers end with their sessions.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}
