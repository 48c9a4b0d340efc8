package chaoshttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// injectorOf is the injector of rules, recorded.
func injectorOf(t testing.TB, rules ...chaos.Rule) *chaos.Injector {
	t.Helper()
	for i := range rules {
		if rules[i].Target == "" {
			rules[i].Target = "*"
		}
	}
	p, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return p.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true, KeepExchanges: true})
}

// document is what the desk answers.
const document = `{"id":7,"state":"shipped","note":"für Zoë"}`

// desk answers everything with the document.
func desk(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, document)
}

// got is what a caller got of one exchange.
type got struct {
	resp *http.Response
	err  error  // of the call
	body string // the part that could be read
	cut  error  // of reading it
}

// ask sends a request and reads the answer to its end.
func ask(ctx context.Context, t testing.TB, c *http.Client, url, body string) (g got) {
	t.Helper()
	req := jsonRequest(t, ctx, http.MethodPost, url, strings.NewReader(body))
	if g.resp, g.err = c.Do(req); g.err != nil {
		return g
	}
	defer g.resp.Body.Close()
	doc, cut := io.ReadAll(g.resp.Body)
	g.body, g.cut = string(doc), cut
	return g
}

// inProcess is a client of a handler without sockets, its transport an injection point.
func inProcess(t testing.TB, h http.HandlerFunc) *http.Client {
	s := chaoshttp.InProcess(h)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &http.Client{Transport: chaoshttp.NewTransport(s, nil)}
}

// overSockets is one of a real server, its transport an injection point.
func overSockets(t testing.TB, h http.HandlerFunc) (c *http.Client, url string) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: chaoshttp.NewTransport(base, nil)}, s.URL
}

// behind is a real server whose handler is an injection point, and a client
// that knows nothing of it. Once the server is closed all is settled.
func behind(t testing.TB, h http.HandlerFunc, in *chaos.Injector) (c *http.Client, s *httptest.Server) {
	s = httptest.NewServer(chaoshttp.Handler(h, &chaoshttp.Options{Injector: in}))
	t.Cleanup(s.Close)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, s
}

// onlyEvent is the event of the one call there was.
func onlyEvent(t testing.TB, in *chaos.Injector) chaos.Event {
	t.Helper()
	events := in.Events()
	require.Len(t, events, 1)
	return events[0]
}

// onBody has a fault of results act on the body of an answer, as a fault of another
// package does.
func onBody(f chaos.Fault) chaos.Fault { return bodyFault{f} }

type bodyFault struct{ of chaos.Fault }

func (bodyFault) Phase() chaos.Phase { return chaos.PhaseChange }

func (f bodyFault) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	r, ok := result.(chaoshttp.Response)
	if err != nil || !ok {
		return result, err
	}
	return r.OnBody(ctx, c, args, f.of)
}

func (bodyFault) Describe() chaos.Description { return chaos.Description{Kind: "on_body"} }

// canned is a provider that answers every request with the same response.
type canned struct {
	contentType string
	body        io.Reader
	header      http.Header
	status      int
}

func stream(body string) *canned {
	return &canned{contentType: "text/event-stream; charset=utf-8", body: strings.NewReader(body)}
}

func doc(body string) *canned {
	return &canned{contentType: "application/json", body: strings.NewReader(body)}
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	h := c.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", c.contentType)
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	body, ok := c.body.(io.ReadCloser)
	if !ok {
		body = io.NopCloser(c.body)
	}
	return &http.Response{StatusCode: status, Header: h, Body: body, ContentLength: -1, Request: r}, nil
}

// answer is what a caller got, and what the injector says of it.
type answer struct {
	header http.Header
	body   string
	err    error // of reading
	in     *chaos.Injector
}

// event is the one event of the call.
func (a answer) event(t require.TestingT) chaos.Event {
	events := a.in.Events()
	require.Len(t, events, 1)
	return events[0]
}

// open sends one request through a rule with that fault.
func open(t require.TestingT, ctx context.Context, from http.RoundTripper, f chaos.Fault) (*http.Response, *chaos.Injector) {
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST llm.example/*", Fault: f})
	require.NoError(t, err)
	in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
	ctx = chaos.NewContext(ctx, in)
	req := request(t, ctx, http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	client := &http.Client{Transport: chaoshttp.NewTransport(from, nil)}
	resp, err := client.Do(req)
	require.NoError(t, err)
	return resp, in
}

// fetch reads the whole answer.
func fetch(t require.TestingT, from http.RoundTripper, f chaos.Fault) answer {
	resp, in := open(t, context.Background(), from, f)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, resp.Body.Close())
	return answer{resp.Header, string(body), err, in}
}

// counted is a body that tells how much of it was read.
type counted struct {
	io.Reader
	read   int
	closed bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p[:min(len(p), 16)])
	c.read += n
	return n, err
}

func (c *counted) Close() error {
	c.closed = true
	return nil
}

// request is what a client sends.
func request(t require.TestingT, ctx context.Context, method, url string, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	require.NoError(t, err)
	return req
}

func jsonRequest(t require.TestingT, ctx context.Context, method, url string, body io.Reader) *http.Request {
	req := request(t, ctx, method, url, body)
	req.Header.Set("Content-Type", "application/json")
	return req
}
