package policy

import (
	"fmt"
	"time"
)

// NewTestBucket is one limit without a server; it returns the hint of a refusal.
func NewTestBucket(l Limit) func(now time.Time) (hint string, ok bool) {
	lim := newLimiter()
	v := &visit{gate: &Gate{}, tool: "t", row: &row{Tool: Tool{Limit: &l}}}
	return func(now time.Time) (string, bool) {
		if e := lim.take(v, now); e != nil {
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

// ForgettingTest calls from more sessions than a limiter remembers.
func ForgettingTest() Forgetting {
	lim := newLimiter()
	v := &visit{gate: &Gate{}, tool: "t", row: &row{Tool: Tool{Limit: &Limit{Budget: maxBuckets + 5}, SessionLimit: &Limit{Budget: 1}}}}
	now := time.Unix(0, 0)
	for i := range maxBuckets + 5 {
		v.session = fmt.Sprint(i)
		now = now.Add(time.Second)
		lim.take(v, now)
	}
	v.session = "last"
	return Forgetting{Buckets: len(lim.buckets), ServerRefuses: lim.take(v, now) != nil}
}
