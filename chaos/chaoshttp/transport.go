package chaoshttp

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Transport is an injection point in front of an [http.RoundTripper]. It is
// made by [NewTransport] and safe for concurrent use.
type Transport struct {
	points
	base http.RoundTripper
}

// NewTransport makes an injection point of base; nil: [http.DefaultTransport].
// o may be nil.
//
// All cells share the default transport, and so its connections. In virtual time
// ([chaos.InjectorOptions].Virtual) it is refused with a sentence: use [PerWorld].
func NewTransport(base http.RoundTripper, o *Options) *Transport {
	base = cmp.Or(base, http.DefaultTransport)
	t := &Transport{base: base}
	if o != nil {
		t.opts = *o
	}
	return t
}

// RoundTrip sends a request, and injects the faults of the rules that match it.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := t.injector(r.Context())
	if in == nil || r.URL == nil { // without a URL the base returns the error
		return t.base.RoundTrip(r)
	}
	if in.Virtual() && t.shared() {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, in.Refuse(errShared)
	}
	s, name := t.site(r)
	if !s.affected(in, name) {
		return t.base.RoundTrip(r)
	}
	a, err := t.arrive(in, r, s, name, false)
	if err != nil {
		return nil, err
	}
	if a.Err() != nil {
		return a.refused()
	}
	if !a.PassesThrough() {
		return (&exchange{do: t.base.RoundTrip}).cross(&a)
	}
	resp, err := t.base.RoundTrip(a.intact())
	failed := err
	if err == nil && resp != nil && resp.StatusCode >= http.StatusBadRequest {
		failed = errStatus
	}
	a.passed(failed)
	return resp, err
}

var errShared = errors.New("chaoshttp: http.DefaultTransport cannot be used in virtual time, because all cells share its connections: " +
	"give each world a transport of its own, such as chaoshttp.PerWorld(); see docs/virtual-time.md, idle connections")

// shared reports whether the base is Go's own default transport. What a program has
// put in its place is its own affair.
func (t *Transport) shared() bool {
	base, ok := t.base.(*http.Transport)
	return ok && base == http.DefaultTransport
}

// PerWorld makes a transport to real servers for one world of a matrix in virtual
// time. Call it in Matrix.NewWorld of package contract:
//
//	client := &http.Client{Transport: chaoshttp.NewTransport(chaoshttp.PerWorld(), nil)}
//
// A connection ends with its answer. An idle one would keep the clock of its cell
// from moving, and would be a leak at the end. The transport looks up host names by
// itself, because Go joins equal lookups of one resolver, also those of two cells.
// Otherwise it is as [http.DefaultTransport] when the program starts. Its fields may
// be changed before it is first used.
//
// Outside of virtual time it only makes more connections.
func PerWorld() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: &net.Resolver{}}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		DisableKeepAlives:   true,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
}

// errStatus stands for a status of failure in an answer without a fault.
var errStatus = errors.New("http: the status is one of failure")

// CloseIdleConnections closes those of the base, for
// [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// WrapClient returns a client whose requests are injection points: a copy of c with
// [NewTransport] around its transport. Jar, redirect policy and time-out are those of
// c, which does not change. A redirect is a call of its own. nil: a client with a
// transport of its own, a copy of [http.DefaultTransport], so that closing its idle
// connections closes no others.
func WrapClient(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{}
		if shared, ok := http.DefaultTransport.(*http.Transport); ok {
			c.Transport = shared.Clone()
		}
	}
	own := *c
	own.Transport = NewTransport(c.Transport, nil)
	return &own
}

// WithInjector passes requests on to next with the injector in their contexts, in
// place of one that they carry. It is for what gets its context from the wire: a
// handler whose wrapped functions and clients take the injector from the context of
// the request, or a reverse proxy in front of what a program in another process calls.
// A nil injector makes them inert. [Handler] is an injection point; this is none.
func WithInjector(next http.Handler, in *chaos.Injector) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(chaos.NewContext(r.Context(), in)))
	})
}
