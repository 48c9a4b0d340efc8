package chaoshttp

import (
	"cmp"
	"errors"
	"net/http"
)

// A Transport is an injection point in front of an [http.RoundTripper]. It is
// made by [NewTransport] and safe for concurrent use.
type Transport struct {
	points
	base http.RoundTripper
}

// NewTransport makes an injection point of base; nil: [http.DefaultTransport].
// o may be nil.
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
		return (&exchange{do: t.base.RoundTrip}).cross(&a, t.opts.MaxBody)
	}
	resp, err := t.base.RoundTrip(a.intact())
	failed := err
	if err == nil && resp != nil && resp.StatusCode >= http.StatusBadRequest {
		failed = errStatus
	}
	a.passed(failed, t.opts.MaxBody)
	return resp, err
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
