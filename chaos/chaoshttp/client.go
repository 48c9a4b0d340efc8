package chaoshttp

import (
	"net/http"

	"github.com/shakedown-go/shakedown/chaos"
)

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
