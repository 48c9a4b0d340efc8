package policy

import (
	"fmt"
	"time"
)

// NewTestBucket is one limit without a server; it returns the hint of a refusal.
func NewTestBucket(l Limit) func(now time.Time) (hint string, ok bool) {
	lim := newLimiter()
	bounds := []bound{{key: bucketKey{what: "t"}, limit: &l}}
	return func(now time.Time) (string, bool) {
		if _, e := lim.take(bounds, now); e != nil {
			return e.Hint, false
		}
		return "", true
	}
}

// Forgetting is what ForgettingTest saw.
type Forgetting struct {
	Buckets       int
	ServerRefuses bool
}

// ForgettingTest calls for more callers than a limiter remembers.
func ForgettingTest() Forgetting {
	lim := newLimiter()
	now := time.Unix(0, 0)
	take := func(caller string) *Error {
		now = now.Add(time.Second)
		_, e := lim.take([]bound{{key: bucketKey{what: "t"}, limit: &Limit{Budget: maxBuckets + 5}}, {key: bucketKey{"t", caller}, limit: &Limit{Budget: 1}}}, now)
		return e
	}
	for i := range maxBuckets + 5 {
		take(fmt.Sprint(i))
	}
	return Forgetting{Buckets: len(lim.buckets), ServerRefuses: take("last") != nil}
}

// Held is the current number of sessions and subscriptions over HTTP.
func (g *Gate) Held() (sessions, subscriptions int) {
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	return g.sessions.held.all, g.sessions.watched.all
}
