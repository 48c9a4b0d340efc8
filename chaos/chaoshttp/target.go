package chaoshttp

import (
	"cmp"
	"math/bits"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/modelapi"
)

// Target is the name of a request's injection point: its method, host and path,
// "GET api.example.com/orders/7". The host is in lower case and has a port if
// the request names one; the query is not part of it. A call of a model ("POST
// api.openai.com/v1/chat/completions") also has the model after a #, once that
// was read from its body: see [Transport].
func Target(r *http.Request) string { return siteKeyOf(r).site().target }

// siteKey is the parts of a request that make its target, as they are found
// there.
type siteKey struct{ method, host, path string }

func siteKeyOf(r *http.Request) siteKey {
	k := siteKey{method: r.Method, host: r.Host}
	if r.URL != nil {
		k.path = r.URL.Path
		if r.URL.Host != "" { // a client's request, or one to a proxy, whose Host is the same
			k.host = r.URL.Host
		}
	}
	return k
}

// hash only chooses a place in the cache, so a cheap one is good enough.
func (k siteKey) hash() uint64 {
	return hash.String(k.path) + bits.RotateLeft64(hash.String(k.host), 1) + uint64(len(k.method))
}

func (k siteKey) site() *site {
	method, path := k.method, k.path
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	s := &site{key: k, target: method + " " + strings.ToLower(k.host) + path}
	s.layer = chaos.LayerHTTP
	if method == http.MethodPost && modelapi.AsksModel(path) {
		s.layer = chaos.LayerLLM
	}
	return s
}

// site is a target, kept so that its name is made once.
type site struct {
	key    siteKey
	target string // without a model
	layer  chaos.Layer
	named  atomic.Pointer[modelTarget] // the last model that was asked there
}

// modelTarget is a target with a model, kept so that its name is made once.
type modelTarget struct{ name, model, target string }

func (s *site) withModel(name, model string) string {
	if t := s.named.Load(); t != nil && t.name == name && t.model == model {
		return t.target
	}
	t := &modelTarget{name, model, name + "#" + model}
	s.named.Store(t)
	return t.target
}

// llm reports whether the target is a model's endpoint, so that a model's name
// may follow.
func (s *site) llm() bool { return s.layer == chaos.LayerLLM }

// affected reports whether anything can happen to a request to the site.
func (s *site) affected(in *chaos.Injector, name string) bool {
	if s.llm() {
		return in.MayAffectPrefix(name)
	}
	return in.MayAffect(name)
}

// sites finds the sites of requests without a lock and without allocating. It
// is a cache with one entry a place, because paths that name an order each
// would fill any other.
type sites struct {
	places [siteCount]atomic.Pointer[site]
}

const siteCount = 256 // a power of two

// of returns the site of a request. name takes the place of its host; empty: none does.
func (t *sites) of(r *http.Request, name string) *site {
	k := siteKeyOf(r)
	k.host = cmp.Or(name, k.host)
	place := &t.places[k.hash()%siteCount]
	if s := place.Load(); s != nil && s.key == k {
		return s
	}
	s := k.site()
	place.Store(s)
	return s
}
