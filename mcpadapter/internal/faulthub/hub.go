//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

// Package faulthub notifies the sessions of an MCP server of delivered faults: by
// messages to those that subscribed, and by a resource of the latest faults.
package faulthub

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// How many subscriptions there may be.
const (
	SessionLimit = 10
	ServerLimit  = 100
)

const (
	// QueueSize is how many notifications wait for a session that reads slowly.
	QueueSize = 256
	// keptFaults is how many faults the resource shows.
	keptFaults = 256
)

// The modes of a subscription, and the loggers of their notifications.
const (
	ModeFaults         = "faults"
	modeResourceFaults = "resource-faults"
	loggerPrefix       = "chaos/"
	LoggerProblem      = "chaos/subscription_error"
)

// URI is the resource of the latest delivered faults, for clients that have no
// sessions and for those that only follow resources.
const URI = "chaos://faults"

// codeTooMany is the code of a refusal for the number of subscriptions.
const codeTooMany = "too_many_subscriptions"

// A Hub notifies sessions of delivered faults. Each session has a reader of its
// own, so a slow or dead session does not delay the others.
type Hub struct {
	*Queue             // of the injector's events, before they are published
	name        string // of the server
	injector    *chaos.Injector
	callerLimit int

	mu      sync.Mutex
	readers map[*mcp.ServerSession]*reader
	closed  bool
	ended   sync.WaitGroup // of the readers

	faults []Numbered // the latest
	last   uint64     // number of the last of them
}

// New returns the hub of a server's injector. callerLimit is how many subscriptions
// one caller may have.
func New(name string, in *chaos.Injector, callerLimit int) *Hub {
	return &Hub{Queue: NewQueue(), name: name, injector: in, callerLimit: callerLimit,
		readers: make(map[*mcp.ServerSession]*reader)}
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

// Filters narrow a subscription; what is left out narrows nothing.
type Filters struct {
	Target      string `json:"target,omitempty" jsonschema:"only injection points that match this glob; * crosses slashes, {a,b} are alternatives" len:"1,256"`
	MinSeverity string `json:"minSeverity,omitempty" jsonschema:"only faults at least this bad: warning for a delay or a changed result, error for a failure, critical for a panic" enum:"info,warning,error,critical"`
}

type subscription struct {
	Subscription
	caller     string     // subject
	target     *glob.Glob // of Filters.Target; nil: every one
	unreported uint64     // drops that the session was not told of
}

// wants reports whether a subscription includes an event.
func (s *subscription) wants(e chaos.Event) bool {
	return (s.target == nil || s.target.Match(e.Target)) && rank(Severity(e)) >= rank(s.Filters.MinSeverity)
}

// rank orders the severities; an unknown one is the lowest.
func rank(severity string) int {
	return slices.Index([]string{"info", "warning", "error", "critical"}, severity)
}

// A reader sends notifications to one session, on one goroutine: a send blocks
// while the client does not read, and surely ends only with the session.
type reader struct {
	session       *mcp.ServerSession
	queue         chan func()   // sends one notification
	gone          chan struct{} // closed when the session has ended
	subscriptions []*subscription
	updating      bool // an update of the resource is in the queue
}

// reader returns the reader of a session, which it makes if there is none. h.mu
// is held.
func (h *Hub) reader(session *mcp.ServerSession) *reader {
	r := h.readers[session]
	if r == nil {
		r = &reader{session: session, queue: make(chan func(), QueueSize), gone: make(chan struct{})}
		h.readers[session] = r
		h.ended.Go(func() { h.run(r) })
		h.ended.Go(func() {
			_ = session.Wait() // however it ended
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.readers, session)
			close(r.gone)
		})
	}
	return r
}

// run sends until the session ends.
func (h *Hub) run(r *reader) {
	for {
		select {
		case <-r.gone:
			return
		case send := <-r.queue:
			send()
			h.reportDrops(r)
		}
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
func (h *Hub) reportDrops(r *reader) {
	var reports []dropped
	h.mu.Lock()
	for _, s := range r.subscriptions {
		if n := s.unreported; n > 0 && len(r.queue) <= QueueSize/2 { // else it has not caught up
			s.unreported = 0
			reports = append(reports, dropped{s.SubscriptionID,
				fmt.Sprintf("%d events were dropped because they were read too slowly", n), true, n})
		}
	}
	h.mu.Unlock()
	for _, report := range reports {
		r.send("error", LoggerProblem, report)
	}
}

// Publish passes an event to every session that wants it. It does not block: what
// does not fit the queue of a session is dropped and counted.
func (h *Hub) Publish(e chaos.Event) {
	origin := Origin{Cluster: h.name, Armed: time.Now().Add(-h.injector.Elapsed())}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.faults) == keptFaults {
		h.faults = slices.Delete(h.faults, 0, 1)
	}
	h.last++
	h.faults = append(h.faults, Numbered{strconv.FormatUint(h.last, 10), NewPayload(modeResourceFaults, e, origin)})
	for _, r := range h.readers {
		for _, s := range r.subscriptions {
			if !s.wants(e) {
				continue
			}
			origin.SubscriptionID = s.SubscriptionID
			data, level, logger := NewPayload(s.Mode, e, origin), mcp.LoggingLevel(Severity(e)), s.Logger
			select {
			case r.queue <- func() { r.send(level, logger, data) }:
				s.Delivered++
			default:
				s.Dropped++
				s.unreported++
			}
		}
	}
}

// methodUpdated is the notification that a resource has changed.
const methodUpdated = "notifications/resources/updated"

// Updates is middleware that passes that notification to the reader of the session. The
// SDK notifies all sessions in a row, and would wait for one that does not
// read. A session has one update in its queue at most: it will then read the current
// state.
func (h *Hub) Updates(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if method != methodUpdated || !ok {
			return next(ctx, method, req)
		}
		ctx = context.WithoutCancel(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.closed {
			return nil, nil
		}
		r := h.reader(session)
		if r.updating {
			return nil, nil
		}
		select {
		case r.queue <- func() {
			h.mu.Lock()
			r.updating = false
			h.mu.Unlock()
			_, _ = next(ctx, method, req)
		}:
			r.updating = true
		default: // what fills the queue is about the same faults
		}
		return nil, nil
	}
}

// A Numbered is a fault with its sequence number, by which a client knows what it
// has not seen. Numbers are decimal strings: they have 64 bits.
type Numbered struct {
	Sequence string `json:"sequence"`
	faultevent.Payload
}

// A Document is the text of the resource.
type Document struct {
	Last    string     `json:"last"`    // number of the latest fault; "0": none yet
	Omitted uint64     `json:"omitted"` // older ones, which are not kept
	Lost    uint64     `json:"lost"`    // those that came too fast and were dropped; they have no number
	Faults  []Numbered `json:"faults"`  // oldest first
}

// Latest returns the latest faults.
func (h *Hub) Latest() Document {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Document{strconv.FormatUint(h.last, 10), h.last - uint64(len(h.faults)), h.Dropped(),
		append([]Numbered{}, h.faults...)}
}

// count counts the subscriptions of a caller, and all of them. h.mu is held.
func (h *Hub) count(caller string) (own, all int) {
	for _, r := range h.readers {
		for _, s := range r.subscriptions {
			if all++; s.caller == caller {
				own++
			}
		}
	}
	return own, all
}

// Subscribe adds a subscription of a caller, by its subject, to a session, and describes it as
// it is before its first event. An empty mode is [ModeFaults]. The error is a [*policy.Error].
func (h *Hub) Subscribe(session *mcp.ServerSession, caller, mode string, filters Filters) (Subscription, error) {
	mode = cmp.Or(mode, ModeFaults)
	s := &subscription{caller: caller, Subscription: Subscription{SubscriptionID: "sub-" + rand.Text(), Mode: mode,
		Filters: filters, CreatedAt: time.Now().UTC(), Logger: loggerPrefix + mode}}
	if filters.Target != "" {
		var err error
		if s.target, err = glob.Compile(filters.Target); err != nil {
			return Subscription{}, refusal(http.StatusBadRequest, policy.CodeInvalidArguments, "target: "+err.Error(),
				"Correct the glob: * for any text, ? for one character, {a,b} for alternatives.")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	own, all := h.count(caller)
	switch r := h.readers[session]; {
	case h.closed:
		return Subscription{}, refusal(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down",
			"Connect again when it is back.")
	case all >= ServerLimit:
		return Subscription{}, tooMany("the server", all,
			"Try again when other clients have unsubscribed, or read the resource "+URI+".")
	case r != nil && len(r.subscriptions) >= SessionLimit:
		return Subscription{}, tooMany("this session", len(r.subscriptions),
			"Unsubscribe from one; events_list_subscriptions lists them. A wider filter replaces several.")
	case own >= h.callerLimit:
		return Subscription{}, tooMany("this caller", own,
			"Unsubscribe from one, or end a session that is not needed.")
	}
	r := h.reader(session)
	r.subscriptions = append(r.subscriptions, s)
	return s.Subscription, nil
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
	had := len(r.subscriptions)
	r.subscriptions = slices.DeleteFunc(r.subscriptions, func(s *subscription) bool { return s.SubscriptionID == id })
	return len(r.subscriptions) < had
}

// List returns the subscriptions of a session, oldest first, and how many all
// sessions have.
func (h *Hub) List(session *mcp.ServerSession) (own []Subscription, total int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own = []Subscription{}
	if r := h.readers[session]; r != nil {
		for _, s := range r.subscriptions {
			own = append(own, s.Subscription)
		}
	}
	_, total = h.count("")
	return own, total
}

// Close refuses further subscriptions. The readers end with their sessions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// Wait waits until all sessions have ended.
func (h *Hub) Wait() { h.ended.Wait() }
