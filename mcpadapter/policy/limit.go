package policy

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"
)

// maxBuckets bounds what a gate remembers of sessions. Beyond it, the session
// that called longest ago is forgotten: its bucket is full again, as a new
// session's would be. The limit of the server is not touched by that.
const maxBuckets = 4096

// A Limit bounds how often a tool is called: a token bucket, a budget, or both.
// Only calls that reach the tool count.
type Limit struct {
	_ struct{}

	// PerSecond is how many calls a second may go on for ever, from 0.0001. 0: no
	// bucket.
	PerSecond float64
	// Burst is how many may come at once. 0: 1.
	Burst int
	// Budget is how many there may be in all, until the process or the session ends.
	// 0: no budget.
	Budget int
}

const minRate = 1e-4 // one call in three hours: what is rarer wants a budget

func (l *Limit) check(bad complain, place string, args ...any) {
	if l == nil {
		return
	}
	if l.PerSecond != 0 && !(l.PerSecond >= minRate && l.PerSecond <= math.MaxInt32) {
		bad(fmt.Sprintf("0 (no bucket), or from %g to %d", minRate, math.MaxInt32), l.PerSecond, place+".PerSecond", args...)
	}
	if l.Burst < 0 || l.Burst > 0 && l.PerSecond == 0 {
		bad("0 (1) or more, with PerSecond", l.Burst, place+".Burst", args...)
	}
	if l.Budget < 0 || l.PerSecond == 0 && l.Budget == 0 {
		bad("0 (none) or more; PerSecond or Budget has to be set", l.Budget, place+".Budget", args...)
	}
}

// A bucket is the state of one limit: how many calls it holds, and when it did.
type bucket struct {
	held float64
	at   time.Time
	used int
}

type bucketKey struct{ tool, session string } // session "" is the server

// A limiter holds all buckets of a gate.
type limiter struct {
	mu      sync.Mutex
	buckets map[bucketKey]*bucket
}

func newLimiter() *limiter { return &limiter{buckets: make(map[bucketKey]*bucket)} }

// take uses up one call of both limits, or of neither.
func (l *limiter) take(v *visit, now time.Time) *Error {
	perServer, perSession := v.row.Limit, v.row.SessionLimit
	if perServer == nil {
		perServer = v.gate.options.Limit
	}
	if perSession == nil {
		perSession = v.gate.options.SessionLimit
	}
	if perServer == nil && perSession == nil {
		return nil
	}
	session := "session " + v.session
	if v.session == "" { // no sessions in the newer protocol, nor in a pipe
		session = "caller " + v.caller.Subject
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	server := l.get(bucketKey{tool: v.tool}, perServer, now)
	own := l.get(bucketKey{v.tool, session}, perSession, now)
	if e := server.refusal(perServer, v.tool, "the server"); e != nil {
		return e
	}
	if e := own.refusal(perSession, v.tool, "this session"); e != nil {
		return e
	}
	server.spend()
	own.spend()
	return nil
}

// get returns the bucket, filled up to now; nil without a limit.
func (l *limiter) get(key bucketKey, limit *Limit, now time.Time) *bucket {
	if limit == nil {
		return nil
	}
	size := float64(max(limit.Burst, 1))
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			l.forget()
		}
		b = &bucket{held: size, at: now}
		l.buckets[key] = b
	}
	if d := now.Sub(b.at); d > 0 {
		b.held, b.at = min(size, b.held+limit.PerSecond*d.Seconds()), now
	}
	return b
}

// forget drops the session that called longest ago.
func (l *limiter) forget() {
	var oldest bucketKey
	var at time.Time
	for key, b := range l.buckets {
		if key.session != "" && (at.IsZero() || b.at.Before(at)) {
			oldest, at = key, b.at
		}
	}
	delete(l.buckets, oldest)
}

// refusal says that the bucket is empty, and when it will not be.
func (b *bucket) refusal(limit *Limit, tool, whose string) *Error {
	switch {
	case b == nil:
		return nil
	case limit.Budget > 0 && b.used >= limit.Budget:
		return &Error{Status: http.StatusTooManyRequests, Code: CodeBudgetExhausted,
			Detail: fmt.Sprintf("tool %s: the budget of %d calls of %s is used up", tool, limit.Budget, whose),
			Hint:   "do not retry; the budget does not grow again"}
	case limit.PerSecond > 0 && b.held < 1:
		wait := time.Duration(math.Ceil((1-b.held)/limit.PerSecond*1000)) * time.Millisecond
		return &Error{Status: http.StatusTooManyRequests, Code: CodeRateLimited,
			Detail: fmt.Sprintf("tool %s: %s allows %g calls a second", tool, whose, limit.PerSecond),
			Hint:   fmt.Sprintf("retry after %v", wait)}
	}
	return nil
}

func (b *bucket) spend() {
	if b != nil {
		b.held--
		b.used++
	}
}
