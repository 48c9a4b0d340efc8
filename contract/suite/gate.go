package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A gate serves the proxies of a matrix while it runs. The requests of another process carry no
// injector: they get that of the cell that is under way.
type gate struct {
	of *endpoint

	mu      sync.Mutex
	in      *chaos.Injector // of the cell that is under way, or of the last one; nil: there was none
	cell    string          // its name
	answer  context.Context // of the prompt that is being answered, or of the last one
	over    context.Context // ends with the cell at the latest
	end     context.CancelFunc
	refused []refusals
	closed  bool
	serving sync.WaitGroup // servers and requests
}

// refusals are requests between cells, by the cell before.
type refusals struct {
	after string
	count int
}

// open listens at all addresses, for [contract.Matrix].Open.
func (g *gate) open(ctx context.Context) (closing func() error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in, g.cell, g.refused, g.closed = nil, "the beginning of the run", nil, false
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
	return func() error { return g.close(servers) }, nil
}

func (g *gate) close(servers []*http.Server) error {
	g.mu.Lock()
	g.closed = true
	g.end()
	g.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
	g.serving.Wait()
	total, after := 0, []string{}
	for _, r := range g.refused {
		total += r.count
		after = append(after, fmt.Sprintf("%s (%d)", r.after, r.count))
	}
	if total == 0 {
		return nil
	}
	return fmt.Errorf("suite: %s came to the proxies when no cell was under way and got 503, after %s",
		text.Plural(total, "request"), text.JoinItems(after))
}

// enter begins an answer: requests now meet the faults of its cell.
func (g *gate) enter(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := chaos.FromContext(ctx); in != g.in {
		g.in, g.cell = in, "a run without faults"
		if c, ok := contract.CellOf(ctx); ok && c.Trial > 0 {
			g.cell = fmt.Sprintf("%s/%d", c.Scenario, c.Trial)
		}
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
		if !g.closed {
			g.late(r, point)
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

// late counts a request between cells; g.mu is held.
func (g *gate) late(r *http.Request, point string) {
	if g.in != nil {
		_ = chaos.Point(chaos.NewContext(r.Context(), g.in), point) // for CellReport.LateCalls
	}
	if last := len(g.refused) - 1; last < 0 || g.refused[last].after != g.cell {
		g.refused = append(g.refused, refusals{after: g.cell})
	}
	g.refused[len(g.refused)-1].count++
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
