package policy

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

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

// logins counts the failed logins of each address.
type logins struct {
	limiter *limiter

	mu     sync.Mutex
	silent map[string]bool // addresses whose refusals are in the audit log already
}

func loginKey(from string) bucketKey { return bucketKey{"login", from} }

// refusal refuses an address with too many failed logins.
func (l *logins) refusal(from string, limit *Limit, now time.Time) *Error {
	l.limiter.mu.Lock()
	defer l.limiter.mu.Unlock()
	b, ok := l.limiter.buckets[loginKey(from)]
	if !ok {
		return nil
	}
	l.limiter.get(loginKey(from), limit, now)
	if b.refusal(limit, "", "") == nil {
		l.mu.Lock()
		delete(l.silent, from)
		l.mu.Unlock()
		return nil
	}
	return &Error{Status: http.StatusTooManyRequests, Code: CodeTooManyLogins, Detail: fmt.Sprintf("too many requests without a valid token from %s", from),
		Hint: "wait, and send the header Authorization: Bearer with the server's token"}
}

func (l *logins) failed(from string, limit *Limit, now time.Time) {
	l.limiter.mu.Lock()
	defer l.limiter.mu.Unlock()
	l.limiter.get(loginKey(from), limit, now).spend()
}

// first reports whether this is the first such refusal of an address. Only that
// one gets an audit line: an attacker must not fill the disk.
func (l *logins) first(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent == nil || len(l.silent) >= maxBuckets {
		l.silent = make(map[string]bool)
	}
	before := l.silent[from]
	l.silent[from] = true
	return !before
}
