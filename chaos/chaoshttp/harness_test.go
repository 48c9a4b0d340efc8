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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
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
