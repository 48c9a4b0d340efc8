package chaoshttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	require.NoError(t, err)
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
