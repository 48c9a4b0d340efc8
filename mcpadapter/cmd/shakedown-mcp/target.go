package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/httpagent"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/processgroup"
)

// How long a server may take to begin, to end when its input has ended, and to end when it is asked to.
const (
	beginning  = 2 * time.Minute
	endOfInput = 500 * time.Millisecond
	askedToEnd = 2 * time.Second
)

// A target is the server under audit in one world: a process and the proxies in front of its API, or a session with
// a server at a URL. It is the registry of its tools, also after a restart.
type target struct {
	of *auditing

	session atomic.Pointer[mcp.ClientSession] // nil: the server has ended
	process atomic.Pointer[process]           // nil: also of a server at a URL
	proxies []*audit.Proxy
	ends    []func() error // of what serves the proxies
	env     []string       // by which the server finds them

	// Whether the server has read, since the last state, from an API that only --proxy answers for, and then did work.
	asked, guessed atomic.Bool
}

// open makes a world in which the server has just begun.
func (a *auditing) open(ctx context.Context) (*target, error) {
	t := &target{of: a}
	err := t.serveProxies(ctx)
	if err == nil {
		err = t.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// serveProxies serves a proxy for each --proxy: at an address of its own, or for a host that is intercepted.
func (t *target) serveProxies(ctx context.Context) error {
	hosts := map[string]http.Handler{}
	for _, p := range t.of.proxies {
		to := p.to
		if p.answer != "" {
			at, err := t.serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					t.asked.Store(true)
				} else if t.asked.Load() {
					t.guessed.Store(true)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, p.answer)
			}))
			if err != nil {
				return err
			}
			to = at
		}
		proxy, err := audit.NewProxy(to, t.of.reads...)
		if err != nil {
			return err
		}
		t.proxies = append(t.proxies, proxy)
		if p.host != "" {
			hosts[p.host] = proxy
			continue
		}
		at, err := t.serve(ctx, proxy)
		if err != nil {
			return err
		}
		t.env = append(t.env, p.name+"="+at)
	}
	if len(hosts) == 0 {
		return nil
	}
	between, err := newInterceptor(hosts)
	if err != nil {
		return err
	}
	t.ends = append(t.ends, between.end)
	at, err := t.serve(ctx, between)
	t.env = append(t.env, between.env(at)...)
	return err
}

// serve serves a handler at a URL of this machine alone, until the target is closed.
func (t *target) serve(ctx context.Context, h http.Handler) (at string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: beginning}
	t.ends = append(t.ends, server.Close)
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String(), nil
}

// begin starts the server and opens a session with it.
func (t *target) begin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, beginning)
	defer cancel()
	web := client.WithToken(&http.Client{Transport: wholeAnswers{}}, t.of.url, t.of.token)
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: t.of.url, HTTPClient: web,
		DisableStandaloneSSE: true}
	var own *process
	if t.of.url == "" {
		if own, err = t.of.start(t.env); err != nil {
			return fmt.Errorf("shakedown-mcp: the server did not start: %w", err)
		}
		transport = &mcp.IOTransport{Reader: io.NopCloser(own.out), Writer: own}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "shakedown-mcp", Version: "audit"}, nil).Connect(ctx, transport, nil)
	if err != nil && own != nil {
		if own.end(); own.said.String() != "" {
			err = fmt.Errorf("%w\nits standard error ends in: %s", err, own.said)
		}
	}
	if err != nil {
		return fmt.Errorf("shakedown-mcp: the server did not begin: %w", err)
	}
	t.session.Store(session)
	t.process.Store(own)
	return nil
}

// wholeAnswers reads an answer of JSON to its end before the SDK gets it, which closes its session for good if a call
// is cancelled while it reads one. The tool would look wedged.
type wholeAnswers struct{}

// RoundTrip sends the request.
func (wholeAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// end ends the session and the process for good.
func (t *target) end() {
	if session := t.session.Swap(nil); session != nil {
		_ = session.Close() //nolint:errcheck // of a server that may have ended by itself
	}
	if own := t.process.Swap(nil); own != nil {
		own.end()
	}
}

func (t *target) restart(ctx context.Context) error {
	t.end()
	return t.begin(ctx)
}

func (t *target) close() (err error) {
	t.end()
	for _, end := range t.ends {
		err = errors.Join(err, end())
	}
	t.proxies, t.ends, t.env = nil, nil, nil
	t.guessed.Store(false)
	return err
}

// reset ends the server, brings what it stores to its first state, and begins again.
func (t *target) reset(ctx context.Context) error {
	err := errors.Join(t.close(), t.of.runReset(ctx), t.serveProxies(ctx))
	if err == nil {
		err = t.begin(ctx)
	}
	return err
}

func (t *target) Tools(ctx context.Context) ([]chaos.Tool, error) {
	return client.Registry(t.session.Load()).Tools(ctx)
}

// CallTool calls a tool. A session with a URL that is closed for good is followed by a new one, for the next call: the
// audit calls again what fails.
func (t *target) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	session := t.session.Load()
	result, err := client.Registry(session).CallTool(ctx, name, args)
	lost, is := errors.AsType[*client.SessionError](err)
	if t.of.url != "" && is && lost.Closed && session != nil && t.session.CompareAndSwap(session, nil) {
		err = errors.Join(err, session.Close(), t.begin(context.WithoutCancel(ctx)))
	}
	return result, t.told(err)
}

// told says of an error that the process of the server has ended, if that is why there is no answer. It stays so until
// the world is reset or closed, as for a client that does not start servers.
func (t *target) told(err error) error {
	lost, _ := errors.AsType[*client.SessionError](err)
	if t.of.url == "" && (errors.Is(err, mcp.ErrConnectionClosed) || lost != nil && lost.Closed) {
		return fmt.Errorf("the process of the server has ended, or closed its output: %w", err)
	}
	return err
}

// world is the target as the audit sees it.
func (t *target) world() *audit.World {
	w := &audit.World{Tools: t, Close: t.close}
	if t.of.url == "" {
		w.Restart = t.restart
	}
	switch {
	case t.of.stateURL != "":
		w.State = httpagent.State(t.of.stateURL)
	case t.of.stateResource != "":
		w.State = t.resource
	case len(t.of.proxies) > 0:
		w.State = t.requests
	}
	return w
}

// resource reads the resource that is the state.
func (t *target) resource(ctx context.Context) (any, error) {
	session := t.session.Load()
	if session == nil {
		return nil, errors.New("shakedown-mcp: the server has ended")
	}
	res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: t.of.stateResource})
	if err != nil {
		return nil, t.told(err)
	}
	var all []any
	for _, part := range res.Contents {
		v, err := jsonvalue.Numbers([]byte(part.Text))
		switch {
		case len(part.Blob) > 0:
			v = part.Blob
		case err != nil:
			v = part.Text
		}
		all = append(all, v)
	}
	return all, nil
}

// requests is what has reached the proxies, by name.
func (t *target) requests(ctx context.Context) (any, error) {
	all := map[string]any{}
	for i, p := range t.proxies {
		v, err := p.State(ctx)
		if err != nil {
			return nil, err
		}
		all[t.of.proxies[i].name] = v
	}
	if t.asked.Store(false); t.guessed.Load() {
		return nil, errors.New("shakedown-mcp: the server reads from the API before it does work, " +
			"and --proxy has no API to tell what was done")
	}
	return all, nil
}

// A process is a run of the server's command, to whose input it writes.
type process struct {
	io.Writer
	out  io.Reader
	said *processgroup.Tail
	end  func() // with all that it has started
}

// start starts the command.
func (a *auditing) start(env []string) (*process, error) {
	cmd := exec.Command(a.command[0], a.command[1:]...)
	processgroup.Lead(cmd)
	in, wrongIn := cmd.StdinPipe()
	out, wrongOut := cmd.StdoutPipe()
	p := &process{Writer: in, out: out, said: new(processgroup.Tail)}
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), p.said
	p.end = sync.OnceFunc(func() {
		_ = in.Close() //nolint:errcheck // it may have ended by itself
		endProcess(cmd)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil, context.Canceled
	}
	err := errors.Join(wrongIn, wrongOut, cmd.Start())
	if err == nil {
		a.ends = append(a.ends, p.end)
	}
	return p, err
}

// Close is for the session that writes to the process.
func (p *process) Close() error {
	p.end()
	return nil
}

// endProcess waits for a process whose input has ended, then asks it to end, then kills it, and last what it has left
// behind. What it writes to its output is read until then, since a process whose output nobody reads may end in the
// middle of its work.
func endProcess(cmd *exec.Cmd) {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() //nolint:errcheck // how it ended does not matter
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endOfInput):
		processgroup.AskToEnd(cmd.Process.Pid)
		select {
		case <-ended:
		case <-time.After(askedToEnd):
		}
	}
	processgroup.Kill(cmd.Process.Pid)
	<-ended
}

// endAll ends the processes that are left, such as those of a run that was interrupted.
func (a *auditing) endAll() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	var ending sync.WaitGroup
	for _, end := range a.ends {
		ending.Go(end)
	}
	ending.Wait()
}

// runReset runs the command of --reset in a shell.
func (a *auditing) runReset(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", a.reset)
	said := new(processgroup.Tail)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, askedToEnd
	processgroup.Lead(cmd)
	cmd.Cancel = func() error { processgroup.Kill(cmd.Process.Pid); return nil }
	err := cmd.Run()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // what it left running may hold its output
		return fmt.Errorf("shakedown-mcp: the command of --reset: %w: %s", err, said)
	}
	return nil
}
