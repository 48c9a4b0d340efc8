package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Proxy is an [http.Handler] that passes the requests of a server on to its API, and counts those that may have
// done work. It keeps no text of headers, queries and bodies. [NewProxy] makes one; it is safe for concurrent use.
//
// Not counted are GET, HEAD, OPTIONS and GraphQL queries, and what the API refused: it answered with 4xx (but not 408
// and 499, which say that somebody gave up), or sent the server on with 307 or 308. Two requests of a method and path
// are one if they have the same idempotency key, or if they are an equal PUT or DELETE. A key is a header, a member of
// the query, or one at the top of a body of JSON or of a form, with a name such as Idempotency-Key, Idempotence-Key,
// idempotency_token or PayPal-Request-Id; true, false, null and nothing are no keys. So the API is trusted to honour
// keys. Whether it knows a repeated request by anything else is not known, nor whether an equal PATCH does its work
// again.
//
// A request that the server gives up goes on to its answer, so that it is known what came of it.
type Proxy struct {
	to    *url.URL
	reads []*glob.Glob
	pass  http.RoundTripper

	mu   sync.Mutex
	open int           // requests whose answer is not there yet
	end  chan struct{} // closed when one has got it, and made anew
	work map[string]map[string]*worked
}

// worked is one piece of work of a method and path.
type worked struct {
	how     string // such requests are told apart
	body    [sha256.Size]byte
	done    bool
	unclear string // why it is not known whether it was done once; empty: it is known
}

const patience = time.Minute // for an answer

// NewProxy makes a proxy in front of the API at an address. reads are requests that only read, besides those that are
// told by their method, as globs such as "POST /search*". Errors are [*FieldError], joined.
func NewProxy(to string, reads ...string) (*Proxy, error) {
	p := &Proxy{pass: chaoshttp.PerWorld(), end: make(chan struct{}), work: map[string]map[string]*worked{}}
	wrong := fields.List()
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		wrong.Wrong("to", fielderror.Found("no such address"), "http or https, a host and a path")
	}
	for i, pattern := range reads {
		g, err := glob.Compile(pattern)
		if err != nil {
			wrong.Because(fmt.Sprintf("reads[%d]", i), pattern, err, `a glob of method and path, such as "POST /search*"`)
		}
		p.reads = append(p.reads, g)
	}
	p.to = u
	return p, wrong.Err()
}

// State returns the counts, by method and path, in which {id} stands for a part that looks like an id. It waits for
// answers. It is an error if it is not known whether a request did its work: the API answered with 5xx or not at all,
// or sent the server on to another host; there are two with one idempotency key and different bodies, or two equal
// PATCH requests without a key.
func (p *Proxy) State(ctx context.Context) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open > 0 {
		end := p.end
		p.mu.Unlock()
		select {
		case <-end:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("audit: the API has not answered %s: %w", text.Plural(p.open, "request"), ctx.Err())
		}
	}
	all, total := map[string]any{}, 0
	for request, pieces := range p.work {
		counts := map[string]int{}
		for _, w := range pieces {
			if w.unclear != "" {
				return nil, fmt.Errorf("audit: it is not known whether %s did its work once: %s", request, w.unclear)
			}
			counts[w.how]++
			total++
		}
		all[request] = counts
	}
	all["in all"] = total // so that a first request changes the state: what it does to the API's is not known
	return map[string]any{"requests that may have done work": all}, nil
}

// ServeHTTP passes a request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, "this proxy passes on requests and their answers alone", http.StatusNotImplemented)
		return
	}
	r.Header.Del("Upgrade") // an offer that a server may leave
	body, err := io.ReadAll(r.Body)
	if err != nil { // the API has not got it
		http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.open++
	p.mu.Unlock()
	var once sync.Once
	answered := func(status int, sentOn string) { once.Do(func() { p.answered(r, body, status, sentOn) }) }
	defer answered(0, "")
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	late := time.AfterFunc(patience, cancel)
	own := r.WithContext(ctx)
	own.Body, own.ContentLength, own.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	(&httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(p.to)
			out.Out.URL.RawQuery = out.In.URL.RawQuery // also what is no query by the rules
		},
		Transport: p.pass, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(res *http.Response) error {
			late.Stop()
			context.AfterFunc(r.Context(), cancel) // nobody reads the rest
			answered(res.StatusCode, res.Header.Get("Location"))
			return nil
		},
	}).ServeHTTP(w, own)
}

// answered keeps what came of a request; a status of 0: there was no answer. sentOn is the address to which a
// redirection leads.
func (p *Proxy) answered(r *http.Request, body []byte, status int, sentOn string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	close(p.end)
	p.end = make(chan struct{})
	if p.refused(r, status, sentOn) || p.onlyReads(r, body) {
		return
	}
	request := r.Method + " " + shape(r.URL.Path)
	if p.work[request] == nil {
		p.work[request] = map[string]*worked{}
	}
	pieces := p.work[request]
	sum := sumOf(r.URL.RequestURI(), body)
	piece, how, unsure := fmt.Sprint(len(pieces)), "without an idempotency key", false
	if key := keyIn(r, body); key != "" {
		piece, how = "key "+key, "different idempotency keys"
	} else if slices.Contains([]string{http.MethodPut, http.MethodDelete, http.MethodPatch}, r.Method) {
		piece, how, unsure = fmt.Sprintf("body %x", sum), "different bodies", r.Method == http.MethodPatch
	}
	w, repeated := pieces[piece]
	if !repeated {
		w = &worked{how: how, body: sum}
		pieces[piece] = w
	}
	done := status >= 200 && status < 300 || status == http.StatusSeeOther
	switch {
	case repeated && unsure: // a PATCH may set a value, or add to one (RFC 5789, 2)
		w.done, w.unclear = true, "two equal PATCH requests have no idempotency key"
	case done && !w.done:
		w.done, w.unclear, w.body = true, "", sum
	case done && w.body != sum:
		w.unclear = "two requests have the same idempotency key and different bodies"
	case !w.done && status == 0:
		w.unclear = "the API did not answer"
	case !w.done:
		w.unclear = fmt.Sprintf("the API answered with %d", status)
	}
}

func (p *Proxy) onlyReads(r *http.Request, body []byte) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	for _, g := range p.reads {
		if g.Match(r.Method + " " + r.URL.Path) {
			return true
		}
	}
	d, query, ok := jsonedit.MemberAt(body, "/query")
	return ok && strings.HasSuffix(r.URL.Path, "/graphql") && !strings.Contains(string(d.Raw(query)), "mutation")
}

// refused reports whether the API did not do what it was asked for. A request that it sent on to the same host comes
// here again, and one for another host does not.
func (p *Proxy) refused(r *http.Request, status int, sentOn string) bool {
	const clientGaveUp = 499 // of nginx
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := url.Parse(sentOn)
		return err == nil && (to.Host == "" || to.Host == r.Host)
	case http.StatusRequestTimeout, clientGaveUp:
		return false
	}
	return status >= 400 && status < 500
}

// sumOf is equal for requests that are: of a body of JSON the order of members and white space do not matter.
func sumOf(uri string, body []byte) [sha256.Size]byte {
	all := []byte(uri + "\n")
	if d, ok := jsonedit.Parse(body); ok && len(d.Repeated()) == 0 {
		return sha256.Sum256(d.AppendPlain(all, 0, true))
	}
	return sha256.Sum256(append(all, body...))
}

// keyName is a name of an idempotency key, in lower case.
var keyName = regexp.MustCompile(`^(.*idempoten(t|ce|cy)([-_ ]?(key|id|token|header))?|paypal-request-id)$`)

// keyIn returns the sum of the idempotency keys of a request; empty: it has none.
func keyIn(r *http.Request, body []byte) string {
	var keys []string
	add := func(name, value string) {
		name = strings.ToLower(name)
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "", "true", "false", "null": // such as X-Idempotent: false
		default:
			if keyName.MatchString(name) {
				keys = append(keys, name+"\n"+value)
			}
		}
	}
	values := []url.Values{url.Values(r.Header), r.URL.Query()}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, _ := url.ParseQuery(string(body)) // what could be read of it
		values = append(values, form)
	}
	for _, all := range values {
		for name, list := range all {
			for _, value := range list {
				add(name, value)
			}
		}
	}
	if v, ok := jsonedit.ParseValue(body); ok {
		for _, name := range v.Keys() {
			switch member := v.Get(name); member.Kind() {
			case jsonedit.String:
				add(name, member.String())
			case jsonedit.Number:
				add(name, string(member.Bytes()))
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(keys, "\n"))))
}

// shape is a path with {id} for each part that has digits alone, or is long and has one.
func shape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		const long = 8
		digits := strings.ContainsFunc(part, unicode.IsDigit)
		if digits && (len(part) >= long || strings.Trim(part, "0123456789") == "") {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}
