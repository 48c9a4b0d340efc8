package client

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
)

// WithToken is [WithHeader] of a bearer token. Without a token, c is returned as it is.
func WithToken(c *http.Client, endpoint, token string) *http.Client {
	if token == "" {
		return cmp.Or(c, http.DefaultClient)
	}
	return WithHeader(c, endpoint, http.Header{"Authorization": {"Bearer " + token}})
}

// WithHeader returns an HTTP client for the transport of a session that sends a header to the
// origin of the endpoint alone: a redirect must not carry it away, nor have it sent in the clear. c
// sends the requests; nil: [http.DefaultClient]. Without a header, c is returned as it is.
func WithHeader(c *http.Client, endpoint string, header http.Header) *http.Client {
	c = cmp.Or(c, http.DefaultClient)
	origin, err := url.Parse(endpoint)
	if len(header) == 0 || err != nil { // what is no URL is not reached either
		return c
	}
	with := *c
	with.Transport = &bearing{header, origin, cmp.Or(c.Transport, http.DefaultTransport)}
	return &with
}

type bearing struct {
	header http.Header
	origin *url.URL
	next   http.RoundTripper
}

// RoundTrip adds the header to a copy of the request.
func (b *bearing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == b.origin.Scheme && req.URL.Host == b.origin.Host {
		req = req.Clone(req.Context())
		maps.Copy(req.Header, b.header)
	}
	return b.next.RoundTrip(req)
}
