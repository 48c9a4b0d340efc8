package mcpadapter

import (
	"cmp"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// Limits bound what a client can ask for and hold; zero fields take the
// defaults. Sessions have theirs in Options.Policy.
type Limits struct {
	_ struct{}
	// BodyBytes is the size of the largest HTTP request, and of the longest line of
	// standard input; 0: 4 MiB.
	BodyBytes int64
	// CallTime is how long a call may take; 0: ten minutes.
	CallTime time.Duration
	// ScenarioWait is how long run_scenario waits for the end of the run before
	// it answers that the run goes on; 0: 30 s.
	ScenarioWait time.Duration
	// SessionTime is the idle timeout of HTTP sessions; 0: 30 min.
	SessionTime time.Duration
	// FaultTime is the time after which a client's fault is removed, unless the
	// client gives a time of its own; 0: 15 min.
	FaultTime time.Duration
	// AllowEndless lets clients register faults that are never removed by time
	// (expires_seconds 0).
	AllowEndless bool

	// Connections and AddressConnections are how many connections [Server.Serve]
	// holds open, in all and of one address. A few more get answers to health checks
	// alone; the rest are closed at once. 0: 128 and 64.
	Connections, AddressConnections int
	// Patience is how long a client may take to send the body of a request, and to read
	// what one write sends it; of that ten seconds for a header and a TLS handshake, and
	// one for the body of a request that is refused. 0: 30 s.
	Patience time.Duration
	// FailedLogins bounds the requests of one address without a valid token; nil: 20
	// at once, and one every five seconds.
	FailedLogins *policy.Limit
	// CallerSubscriptions is how many subscriptions made by events_subscribe one
	// caller may have, in all its sessions; 0: 50.
	CallerSubscriptions int
}

// check returns a [*FieldError] for each negative limit, joined.
func (l Limits) check() error {
	problems := fields.List()
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanInt() && f.Int() < 0 {
			problems.Wrong("Limits."+v.Type().Field(i).Name, f.Interface(), "above 0, or 0 for the default")
		}
	}
	return problems.Err()
}

// withDefaults returns the limits with the defaults in the place of zeros.
func (l Limits) withDefaults() Limits {
	l.BodyBytes = cmp.Or(l.BodyBytes, 4<<20)
	l.CallTime = cmp.Or(l.CallTime, 10*time.Minute)
	l.ScenarioWait = cmp.Or(l.ScenarioWait, 30*time.Second)
	l.SessionTime = cmp.Or(l.SessionTime, 30*time.Minute)
	l.FaultTime = cmp.Or(l.FaultTime, 15*time.Minute)
	l.Connections = cmp.Or(l.Connections, 128)
	l.AddressConnections = cmp.Or(l.AddressConnections, 64)
	l.Patience = cmp.Or(l.Patience, 30*time.Second)
	l.CallerSubscriptions = cmp.Or(l.CallerSubscriptions, 50)
	return l
}
