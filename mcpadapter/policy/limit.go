package policy

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxBuckets bounds what a gate remembers of callers. Beyond it, the caller
// with the oldest call is forgotten, so that its bucket is full again, like a
// new caller's. The limit of the server does not change.
const maxBuckets = 4096

// A Limit bounds how often a tool is called: a token bucket, a budget, or both.
// Only calls that reach the tool count.
type Limit struct {
	_ struct{}

	// PerSecond is the rate of calls per second, at least 0.0001. 0: no bucket.
	PerSecond float64
	// Burst is how many calls may come at once. 0: 1.
	Burst int
	// Budget is how many calls there may be until the process ends. 0: no budget.
	Budget int
}

const minRate = 1e-4 // one call in three hours; below that, use a budget

func (l *Limit) check(bad complain, place string, args ...any) {
	if l == nil {
		return
	}
	if l.PerSecond != 0 && !(l.PerSecond >= minRate && l.PerSecond <= math.MaxInt32) {
		bad(fmt.Sprintf("0 (no bucket), or from %g to %d", minRate, math.MaxInt32), l.PerSecond, place+".PerSecond",
			args...)
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
	held    float64
	at      time.Time
	used    int
	refused bool // of failed logins: the audit log has the refusal
}

// A bucketKey names a bucket: what is limited, and for which caller. An empty
// caller is the server: all callers together.
type bucketKey struct{ what, caller string }

// A limiter holds all buckets of a gate.
type limiter struct {
	mu      sync.Mutex
	buckets map[bucketKey]*bucket
}

func newLimiter() *limiter { return &limiter{buckets: make(map[bucketKey]*bucket)} }

// A bound is a limit that applies to a call, and its description.
type bound struct {
	key         bucketKey
	limit       *Limit
	what, whose string
}

// bounds returns the limits of a request: the server's, and its caller's, whose
// sessions count together.
func (acc *access) bounds(perServer, perCaller *Limit, what string) (all []bound) {
	if limit := cmp.Or(perServer, acc.gate.options.Limit); limit != nil {
		all = append(all, bound{bucketKey{what: what}, limit, what, "the server"})
	}
	if limit := cmp.Or(perCaller, acc.gate.options.SessionLimit); limit != nil {
		all = append(all, bound{bucketKey{what, acc.caller.Subject}, limit, what, "this caller"})
	}
	return all
}

// taken is what a call has used up.
type taken struct {
	limiter *limiter
	bounds  []bound
}

// take uses up one call of all limits, or of none.
func (l *limiter) take(bounds []bound, now time.Time) (taken, *Error) {
	if len(bounds) == 0 {
		return taken{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range bounds {
		if e := l.get(b.key, b.limit, now).refusal(b.limit, b.what, b.whose); e != nil {
			return taken{}, e
		}
	}
	for _, b := range bounds {
		l.get(b.key, b.limit, now).spend()
	}
	return taken{l, bounds}, nil
}

// back gives back what a call has used up, for a call that did nothing.
func (t taken) back() {
	if t.limiter == nil {
		return
	}
	t.limiter.mu.Lock()
	defer t.limiter.mu.Unlock()
	for _, b := range t.bounds {
		if kept := t.limiter.buckets[b.key]; kept != nil {
			kept.held = min(kept.held+1, float64(max(b.limit.Burst, 1)))
			kept.used = max(kept.used-1, 0)
		}
	}
}

// get returns the bucket, filled up to now.
func (l *limiter) get(key bucketKey, limit *Limit, now time.Time) *bucket {
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

func (l *limiter) forget() {
	var oldest bucketKey
	var at time.Time
	for key, b := range l.buckets {
		if key.caller != "" && (at.IsZero() || b.at.Before(at)) {
			oldest, at = key, b.at
		}
	}
	delete(l.buckets, oldest)
}

// refusal says that the bucket is empty, and when it will not be.
func (b *bucket) refusal(limit *Limit, what, whose string) *Error {
	switch {
	case limit.Budget > 0 && b.used >= limit.Budget:
		return &Error{Status: http.StatusTooManyRequests, Code: CodeBudgetExhausted,
			Detail: fmt.Sprintf("%s: the budget of %d calls of %s is used up", what, limit.Budget, whose),
			Hint:   "do not retry; the budget does not grow again"}
	case limit.PerSecond > 0 && b.held < 1:
		wait := time.Duration(math.Ceil((1-b.held)/limit.PerSecond*1000)) * time.Millisecond
		return &Error{Status: http.StatusTooManyRequests, Code: CodeRateLimited,
			Detail: fmt.Sprintf("%s: %s allows %g calls a second", what, whose, limit.PerSecond),
			Hint:   fmt.Sprintf("retry after %v", wait)}
	}
	return nil
}

func (b *bucket) spend() {
	b.held--
	b.used++
}

// address returns where a request came from, without the port: the /64 for
// IPv6, because a caller has a whole one.
func address(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return (&net.IPNet{IP: ip.Mask(net.CIDRMask(64, 128)), Mask: net.CIDRMask(64, 128)}).String()
}

func loginKey(from string) bucketKey { return bucketKey{"login", from} }

func (l *limiter) tooMany(from string, limit *Limit, now time.Time) *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets[loginKey(from)] == nil {
		return nil
	}
	b := l.get(loginKey(from), limit, now)
	if b.refusal(limit, "", "") == nil {
		b.refused = false
		return nil
	}
	return &Error{Status: http.StatusTooManyRequests, Code: CodeTooManyLogins,
		Detail: fmt.Sprintf("too many requests without a valid token from %s", from),
		Hint:   "wait, and send the header Authorization: Bearer with the server's token"}
}

func (l *limiter) failedLogin(from string, limit *Limit, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(loginKey(from), limit, now).spend()
}

// firstRefusal reports whether no such refusal of an address was reported yet. Only the
// first gets an audit line: an attacker must not fill the disk.
func (l *limiter) firstRefusal(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[loginKey(from)]
	first := b != nil && !b.refused
	if first {
		b.refused = true
	}
	return first
}
