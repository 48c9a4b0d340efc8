package client

import (
	"cmp"
	"net/http"
	"net/url"
)

// WithToken returns an HTTP client for the transport of a session that sends a bearer token to the
// origin of the endpoint alone: a redirect must not carry it away, nor have it sent in the clear. c
// sends the requests; nil: [http.DefaultClient]. Without a token, c is returned as it is.
func WithToken(c *http.Client, endpoint, token string) *http.Client {
	c = cmp.Or(c, http.DefaultClient)
	origin, err := url.Parse(endpoint)
	if token == "" || err != nil { // what is no URL is not reached either
		return c
	}
	with := *c
	with.Transport = &bearing{token, origin, cmp.Or(c.Transport, http.DefaultTransport)}
	return &with
}

type bearing struct {
	token  string
	origin *url.URL
	next   http.RoundTripper
}

// RoundTrip adds the token to a copy of the request.
func (b *bearing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == b.origin.Scheme && req.URL.Host == b.origin.Host {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(req)
}
