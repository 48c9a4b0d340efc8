package policy

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
)

// Sessions of the two transports have names of their own.
const (
	streamKey = "stream:" // and the header Mcp-Session-Id
	eventsKey = "events:" // and the session id in the URL
)

func (acc *access) sessionKey() string {
	if acc.events {
		return eventsKey + acc.session
	}
	return streamKey + acc.session
}

// sessions knows the caller of each session over HTTP, and what each caller
// holds.
type sessions struct {
	mu            sync.Mutex
	owners        map[string]*session
	held, watched counts
}

// A session is a session over HTTP: its caller and its subscriptions by URI.
type session struct {
	subject string
	uris    map[string]*subscription
}

// A subscription counts while the server has it, or is being asked for it.
type subscription struct {
	pending int  // requests without an answer
	made    bool // the server has it
}

func newSessions(o *Options) *sessions {
	return &sessions{owners: make(map[string]*session),
		held: counts{what: "sessions", most: cmp.Or(o.MaxSessions, 1024), each: cmp.Or(o.MaxCallerSessions, 256),
			of: make(map[string]int)},
		watched: counts{what: "subscriptions", most: cmp.Or(o.MaxSubscriptions, 1000),
			each: cmp.Or(o.MaxCallerSubscriptions, 200), of: make(map[string]int)}}
}

// counts are what callers hold of something, and the bounds on it.
type counts struct {
	what       string
	most, each int
	all        int
	of         map[string]int
}

// take adds n, or returns the bound that it would exceed.
func (c *counts) take(subject string, n int) *Error {
	whose, most := "the server", c.most
	switch {
	case c.all+n > c.most:
	case c.of[subject]+n > c.each:
		whose, most = "this caller", c.each
	default:
		c.all += n
		c.of[subject] += n
		return nil
	}
	return &Error{Status: http.StatusTooManyRequests, Code: CodeTooManySessions,
		Detail: fmt.Sprintf("%s holds %d %s, the most there may be", whose, most, c.what),
		Hint:   "end one that is not needed, or try again when others have ended"}
}

func (c *counts) give(subject string, n int) {
	c.all -= n
	if c.of[subject] -= n; c.of[subject] <= 0 {
		delete(c.of, subject)
	}
}

// hold counts a session; give ends that, once.
func (s *sessions) hold(subject string) (give func(), refusal *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.held.take(subject, 1); e != nil {
		return nil, e
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held.give(subject, 1)
	}), nil
}

// own sets the caller of a session; forget removes it, with its subscriptions.
func (s *sessions) own(key, subject string) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := &session{subject: subject, uris: make(map[string]*subscription)}
	s.owners[key] = mine
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.owners[key] == mine {
			delete(s.owners, key)
		}
		s.watched.give(subject, len(mine.uris))
		clear(mine.uris)
	}
}

// owner returns the caller of a session; ok is false for a session that was not
// opened here.
func (s *sessions) owner(key string) (subject string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.owners[key]
	if mine == nil {
		return "", false
	}
	return mine.subject, true
}

// watch counts a subscription of a session. done ends the request with the
// server's answer: if it was refused, and the server has no other, it no longer
// counts. An unknown session, as over standard input, has none of these bounds.
func (s *sessions) watch(key, uri string) (done func(accepted bool), refusal *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.owners[key]
	if mine == nil {
		return func(bool) {}, nil
	}
	sub := mine.uris[uri]
	if sub == nil {
		if e := s.watched.take(mine.subject, 1); e != nil {
			return nil, e
		}
		sub = new(subscription)
		mine.uris[uri] = sub
	}
	sub.pending++
	return func(accepted bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		sub.pending--
		sub.made = sub.made || accepted
		s.release(mine, uri)
	}, nil
}

func (s *sessions) unwatch(key, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine := s.owners[key]; mine != nil && mine.uris[uri] != nil {
		mine.uris[uri].made = false
		s.release(mine, uri)
	}
}

// release gives back a subscription that neither the server has nor a request
// asks for. s.mu is held.
func (s *sessions) release(mine *session, uri string) {
	if sub := mine.uris[uri]; sub != nil && sub.pending == 0 && !sub.made {
		delete(mine.uris, uri)
		s.watched.give(mine.subject, 1)
	}
}

// listen counts the subscriptions of a request that stays open; done ends that.
func (s *sessions) listen(subject string, n int) (done func(accepted bool), refusal *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.watched.take(subject, n); e != nil {
		return nil, e
	}
	return func(bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watched.give(subject, n)
	}, nil
}
