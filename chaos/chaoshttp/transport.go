package chaoshttp

import (
	"cmp"
	"errors"
	"math/bits"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/modelapi"
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
	return &Transport{points: points{opts: *cmp.Or(o, &Options{})}, base: cmp.Or(base, http.DefaultTransport)}
}

// RoundTrip sends a request, and injects the faults of the rules that match it.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := t.injector(r.Context())
	if in == nil || r.URL == nil { // without a URL the base returns the error
		return t.base.RoundTrip(r)
	}
	// What a program has put in the place of Go's own default transport is its own affair.
	if base, ok := t.base.(*http.Transport); ok && base == http.DefaultTransport && in.Virtual() {
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
	"give each world a transport of its own, such as chaoshttp.PerWorld(); see docs/worlds.md, idle connections")

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
		if modelapi.Provider(path) == "bedrock" {
			s.model = modelapi.ModelIn(path)
		}
	}
	return s
}

// site is a target, kept so that its name is made once.
type site struct {
	key    siteKey
	target string // without a model
	layer  chaos.Layer
	model  string                      // that the path names, where the body cannot; empty: it is in the body
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

func (s *site) affected(in *chaos.Injector, name string) bool {
	if s.layer == chaos.LayerLLM { // a model's name may follow
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

// siteOf returns the site of a request. name takes the place of its host; empty: none does.
func (t *sites) siteOf(r *http.Request, name string) *site {
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

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		refused, resetByServer, closedByServer, noSuchHost, handshake,
		status, apiError,
		slowHeaders, slowBodyRow, cutBodyRow, shortBodyRow,
		wrongEncodingRow, htmlPage, errorInOK,
		emptyCompletionRow, cutCompletionRow, filterCompletionRow, refuseCompletionRow, garbleCompletionRow,
		malformToolCallRow,
		stripToolCallsRow, hallucinateToolCallRow, wrongArgumentRow, missingArgumentRow, driftCompletionRow,
		spoilCompletionRow,
		slowFirstEventRow, slowEventsRow, hangStreamRow, cutEventRow, cutStreamRow, malformEventRow,
		duplicateEventRow, swapEventsRow, errorEventRow, dropTerminatorRow)
}
