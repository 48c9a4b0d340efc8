// Package session has what belongs to one session of a client: the rules that end
// with it, and the progress of its calls.
package session

import (
	"fmt"
	"maps"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

// Sessionless is the first revision of the protocol without sessions. Dates compare
// as texts.
const Sessionless = "2026-07-28"

// Pushable refuses clients of a revision without sessions: nothing can be pushed to
// them.
func Pushable(revision string) error {
	if revision < Sessionless {
		return nil
	}
	return failure.New(http.StatusConflict, failure.CodeStateless,
		fmt.Sprintf("protocol revision %s has no sessions to send messages to", revision),
		"Subscribe to the resource "+faulthub.URI+
			", or read it from time to time; or connect with revision 2025-11-25.")
}

// Leases remove the rules of a session when it ends, for whatever reason.
type Leases struct {
	mu     sync.Mutex
	held   map[*mcp.ServerSession]map[string]func() bool // what removes a rule, by its name
	closed bool
	ended  sync.WaitGroup // of those that wait for a session's end
}

// Hold makes rules end with a session: what removes each, by its name. A rule that
// has since been replaced is left alone: its function knows its own.
func (l *Leases) Hold(in *chaos.Injector, session *mcp.ServerSession, added map[string]func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // all sessions are being closed
		for _, remove := range added {
			remove()
		}
		return
	}
	rules := l.held[session]
	if rules == nil {
		if l.held == nil {
			l.held = make(map[*mcp.ServerSession]map[string]func() bool)
		}
		rules = make(map[string]func() bool)
		l.held[session] = rules
		l.ended.Go(func() {
			_ = session.Wait() // however it ended
			l.leave(session)
		})
	}
	l.forgetGone(in, rules)
	maps.Copy(rules, added)
}

// forgetGone drops the rules that have expired or were removed, so that a long
// session does not accumulate names.
func (l *Leases) forgetGone(in *chaos.Injector, rules map[string]func() bool) {
	left := make(map[string]bool)
	for _, r := range in.Rules() {
		left[r.Name] = true
	}
	maps.DeleteFunc(rules, func(name string, _ func() bool) bool { return !left[name] })
}

func (l *Leases) leave(session *mcp.ServerSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, remove := range l.held[session] {
		remove()
	}
	delete(l.held, session)
}

// Close accepts no more rules. Those that are held end with their sessions.
func (l *Leases) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Wait waits until all sessions that hold rules have ended.
func (l *Leases) Wait() { l.ended.Wait() }

// Held counts the rules that end with some session.
func (l *Leases) Held() (rules int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, held := range l.held {
		rules += len(held)
	}
	return rules
}
