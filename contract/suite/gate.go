package suite

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A gate serves the proxies of a matrix while it runs. The requests of another process carry no
// injector: they get that of the cell that is under way.
type gate struct {
	of *endpoint

	mu      sync.Mutex
	in      *chaos.Injector // of the cell that is under way, or of the last one; nil: there was none
	answer  context.Context // of the prompt that is being answered, or of the last one
	over    context.Context // ends with the cell at the latest
	end     context.CancelFunc
	closed  bool
	serving sync.WaitGroup // servers and requests
}

// open listens at all addresses, for [contract.Matrix].Open.
func (g *gate) open(ctx context.Context) (closing func() error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in, g.closed = nil, false
	g.over, g.end = context.WithCancel(context.Background())
	var listeners []net.Listener
	var problems []error
	for _, p := range g.of.proxies {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.listen)
		if err != nil {
			wrong := p.listens
			wrong.Value, wrong.Err, wrong.Allowed = p.listen, err, "an address of this machine at which nobody listens"
			problems = append(problems, &wrong)
			continue
		}
		listeners = append(listeners, listener)
	}
	if len(problems) > 0 {
		for _, listener := range listeners {
			listener.Close()
		}
		return nil, errors.Join(problems...)
	}
	silent := log.New(io.Discard, "", 0)
	var servers []*http.Server
	for i, p := range g.of.proxies {
		server := &http.Server{Handler: g.handler(p, silent), ErrorLog: silent}
		servers = append(servers, server)
		g.serving.Go(func() { _ = server.Serve(listeners[i]) })
	}
	return func() error { g.close(servers); return nil }, nil
}

func (g *gate) close(servers []*http.Server) {
	g.mu.Lock()
	g.closed = true
	g.end()
	g.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
	g.serving.Wait()
}

// enter begins an answer: requests now meet the faults of its cell.
func (g *gate) enter(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := chaos.FromContext(ctx); in != g.in {
		g.in = in
		g.end()
		g.over, g.end = context.WithCancel(context.Background())
	}
	g.answer = ctx
}

// admit lets a request in, with a context that has the injector of the cell and ends with the
// answer. ok is false if no cell is under way: then it is a late call of the cell before.
func (g *gate) admit(r *http.Request, point string) (ctx context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.in == nil || g.in.Closed() {
		if !g.closed && g.in != nil {
			_ = chaos.Point(chaos.NewContext(r.Context(), g.in), point) // for CellReport.LateCalls
		}
		return nil, nil, false
	}
	g.serving.Add(1)
	ctx, cancel := context.WithCancel(chaos.NewContext(r.Context(), g.in))
	stops := []func() bool{context.AfterFunc(g.over, cancel)}
	if g.answer.Err() == nil { // else the request came between two answers of the cell
		stops = append(stops, context.AfterFunc(g.answer, cancel))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
		g.serving.Done()
	}, true
}

// handler passes requests on, past the faults of the cell that is under way.
func (g *gate) handler(p *proxy, silent *log.Logger) http.Handler {
	transport := chaoshttp.PerWorld()
	transport.DisableCompression = true
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.to)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also what is no query by the rules
			r.Out.Header.Del("Accept-Encoding")    // faults do not read compressed bodies
		},
		Transport: transport, FlushInterval: -1, ErrorLog: silent,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { g.unanswered(p, w, r, err) },
	}
	through := chaoshttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil // an answer without one gets none: the agent may go by it
		pass.ServeHTTP(w, r)
	}), &chaoshttp.Options{Target: func(r *http.Request) string { return p.target(r.URL.Path) }, Tools: g.of.tools})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect || strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			http.Error(w, "this proxy passes on requests and their answers alone", http.StatusNotImplemented)
			return
		}
		r.Header.Del("Upgrade") // an offer, such as of HTTP/2, that a server may leave
		// In HTTP/1 an answer may begin before its request has ended.
		_ = http.NewResponseController(w).EnableFullDuplex()
		ctx, leave, ok := g.admit(r, p.target(r.URL.Path))
		if !ok {
			readRest(r)
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
			return
		}
		defer leave()
		through.ServeHTTP(w, r.WithContext(ctx))
	})
}

// readRest reads a request that nobody else reads, so that the agent can use its connection again. With full duplex
// net/http does it too late, when the handler has returned, and resets the connection: a failure that is no fault's.
// A client that waits to be asked for its body sends none to one that has answered.
func readRest(r *http.Request) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// unanswered answers for a server that did not. What the agent makes of that says nothing about it.
func (g *gate) unanswered(p *proxy, w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // nobody waits for an answer
		panic(http.ErrAbortHandler)
	}
	wrong := p.leads
	wrong.Value, wrong.Err, wrong.Allowed = p.to.String(), err, "a server that answers"
	_ = chaos.FromContext(r.Context()).Refuse(g.of.hide(&wrong))
	http.Error(w, http.StatusText(http.StatusBadGateway), http.StatusBadGateway)
}

// at is the beginning of an error about a value of the file.
func (r *reader) at(n node) fielderror.Error {
	e := fielderror.Error{File: r.file, Field: strings.TrimPrefix(n.Pointer(), "/")}
	e.Line, e.Column = r.Place(n)
	return e
}

// declared are the tools of the file. Calls of them go through the proxies.
type declared []chaos.Tool

func (d declared) Tools(context.Context) ([]chaos.Tool, error) { return slices.Clone(d), nil }

func (d declared) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("suite: the tools of an agent behind HTTP are called through its proxies alone")
}
