package chaoshttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

const chat = "https://API.openai.com/v1/chat/completions"

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		method, url, body, want string
		layer                   chaos.Layer
	}{
		{"GET", "https://Example.com/orders/7?key=secret", "", "GET example.com/orders/7", chaos.LayerHTTP},
		{"", "http://127.0.0.1:8080", "", "GET 127.0.0.1:8080/", chaos.LayerHTTP},
		{"POST", chat, `{"messages":[{"role":"user","content":"{"}],"model":"gpt-4o"}`, "POST api.openai.com/v1/chat/completions#gpt-4o", chaos.LayerLLM},
		{"POST", chat, `{"model":7}`, "POST api.openai.com/v1/chat/completions", chaos.LayerLLM},
		{"POST", chat, `{"model":"a model"}`, "POST api.openai.com/v1/chat/completions", chaos.LayerLLM},
		{"POST", chat, `not JSON`, "POST api.openai.com/v1/chat/completions", chaos.LayerLLM},
		{"POST", chat, `{"model":"` + strings.Repeat("x", 129) + `"}`, "POST api.openai.com/v1/chat/completions", chaos.LayerLLM},
		{"POST", "https://gateway/anthropic/v1/messages", `{"model":"claude"}`, "POST gateway/anthropic/v1/messages#claude", chaos.LayerLLM},
		{"POST", "https://x/v1/embeddings", `{"model":"e3"}`, "POST x/v1/embeddings#e3", chaos.LayerLLM},
		{"POST", "https://x/v1beta/models/gemini-pro:generateContent", `{}`, "POST x/v1beta/models/gemini-pro:generateContent", chaos.LayerLLM},
		{"GET", "https://x/v1/responses", ``, "GET x/v1/responses", chaos.LayerHTTP},
		{"POST", "https://x/orders", `{"model":"T"}`, "POST x/orders", chaos.LayerHTTP},
	} {
		in := injectorOf(t)
		req := request(t, chaos.NewContext(t.Context(), in), tt.method, tt.url, strings.NewReader(tt.body))
		resp, err := inProcess(t, desk).Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		e := onlyEvent(t, in)
		assert.Equal(t, tt.want, e.Target)
		assert.Equal(t, tt.layer, e.Layer, tt.want)
		assert.NotContains(t, string(e.Args), "secret", "what may be secret is not kept")
		bare, _, _ := strings.Cut(tt.want, "#")
		assert.Equal(t, bare, chaoshttp.Target(req))
	}
}

func TestRulesFindACallWithAndWithoutItsModel(t *testing.T) {
	for pattern, want := range map[string]bool{
		"POST api.openai.com/v1/chat/completions":        true,
		"POST api.openai.com/v1/chat/completions#gpt-4o": true,
		"*#gpt-4*":                      true,
		"* api.openai.com/*":            true,
		"{POST,PUT} *.openai.com/v1/*":  true,
		"*#o3":                          false,
		"GET api.openai.com/*":          false,
		"POST api.openai.com/v1/models": false,
	} {
		in := injectorOf(t, chaos.Rule{Target: pattern, Fault: chaoshttp.HangUp()})
		g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{"model":"gpt-4o"}`)
		assert.Equal(t, want, g.err != nil, pattern)
	}
}

func TestATargetOfOnesOwn(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Target: "GET orders/{name,number}", When: when.Nth(2), Fault: chaoshttp.HangUp()})
	s := chaoshttp.InProcess(http.HandlerFunc(desk))
	point := chaoshttp.NewTransport(s, &chaoshttp.Options{Injector: in, Target: func(r *http.Request) string {
		if strings.HasPrefix(r.URL.Path, "/orders/") {
			return "GET orders/id"
		}
		return ""
	}})
	in2 := injectorOf(t, chaos.Rule{Target: "GET orders/id", When: when.Nth(2), Fault: chaoshttp.HangUp()})
	point2 := chaoshttp.NewTransport(s, &chaoshttp.Options{Injector: in2, Target: func(*http.Request) string { return "GET orders/id" }})
	for i, path := range []string{"/orders/7", "/orders/8", "/orders/9"} {
		for p, failed := range map[*chaoshttp.Transport]bool{point: false, point2: i == 1} {
			resp, err := (&http.Client{Transport: p}).Get("https://example.com" + path)
			require.Equal(t, failed, err != nil, "the paths are one target: %s", path)
			if err == nil {
				resp.Body.Close()
			}
		}
	}
	require.NoError(t, s.Close())
}

// The callee gets the request as it was, however its body is given.
func TestTheRequestStaysIntact(t *testing.T) {
	const body = `{"model":"gpt-4o","messages":[]}`
	for name, of := range map[string]func() io.Reader{
		"a body that can be had again": func() io.Reader { return strings.NewReader(body) },
		"a stream":                     func() io.Reader { return io.MultiReader(strings.NewReader(body)) },
	} {
		in := injectorOf(t)
		var seen string
		client := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
			doc, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			seen = string(doc)
			assert.Equal(t, "yes", r.Header.Get("X-Mark"))
		})
		req := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, chat, of())
		req.Header.Set("X-Mark", "yes")
		req.Header.Set("Content-Type", "application/json")
		length, again := req.ContentLength, req.GetBody != nil
		resp, err := client.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, body, seen, name)
		assert.Equal(t, length, req.ContentLength, name)
		assert.Equal(t, again, req.GetBody != nil, name)
		assert.Equal(t, "POST api.openai.com/v1/chat/completions#gpt-4o", onlyEvent(t, in).Target, name)
	}
}

// Where no rule could match, nothing is looked at.
func TestTheBodyIsReadOnlyWhereARuleCouldCare(t *testing.T) {
	const orders = "https://api.openai.com/orders"
	for pattern, want := range map[string]map[string]bool{ // where a rule looks at no key: the model is part of a name
		"GET other.example.com/*":             {},
		"* api.openai.com/v1/embeddings":      {},
		"*#gpt-4o":                            {chat: true}, // a path that asks no model has no #
		"POST api.openai.com/v1/chat/*":       {chat: true},
		"POST api.openai.com/v1/chat/*#gpt-4": {chat: true},
		"* api.openai.com/orders":             {},
		"by its key":                          {orders: true},
		"by its arguments":                    {orders: true},
	} {
		for _, url := range []string{chat, orders} {
			in := chaos.NewInjector(1, nil)
			rule := chaos.Rule{Target: pattern, When: when.Nth(99), Fault: chaoshttp.HangUp()}
			switch pattern {
			case "by its key":
				rule.Target, rule.When = "* api.openai.com/orders", when.Prob(1e-9)
			case "by its arguments":
				rule.Target, rule.When = "* api.openai.com/orders", when.Args("never", func(chaoshttp.Request) bool { return false })
			}
			require.NoError(t, in.Register(rule))
			read := false
			req := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, url, nil)
			req.Body = io.NopCloser(noticing{&read})
			req.ContentLength = 2
			_, err := chaoshttp.NewTransport(instant{&http.Response{StatusCode: 200, Body: http.NoBody}}, nil).RoundTrip(req)
			require.NoError(t, err)
			assert.Equal(t, want[url], read, "%s for %s", pattern, url)
		}
	}
}

// noticing tells that it was read.
type noticing struct{ read *bool }

func (n noticing) Read([]byte) (int, error) { *n.read = true; return 0, io.EOF }

// closing is a body that reports whether it was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

func TestTheBodyOfARequestThatIsNotSentIsClosed(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.Refused()})
	closed := false
	req := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, chat, closing{strings.NewReader("{}"), &closed})
	_, err := chaoshttp.NewTransport(instant{}, nil).RoundTrip(req)
	require.Error(t, err)
	assert.True(t, closed)
}

func TestABodyOfUnknownSizeThatIsNoJSONIsNotReadBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injectorOf(t)
		client := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
			line := make([]byte, 5)
			for range 2 { // an echo: the writer waits for each answer
				_, err := io.ReadFull(r.Body, line)
				assert.NoError(t, err)
				_, _ = w.Write(line)
				http.NewResponseController(w).Flush()
			}
		})
		r, w := io.Pipe()
		req := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, "https://example.com/echo", r)
		go func() { _, _ = w.Write([]byte("hello")) }()
		resp, err := client.Do(req)
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = io.ReadFull(resp.Body, got)
		require.NoError(t, err)
		_, _ = w.Write([]byte("again"))
		rest, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "helloagain", string(got)+string(rest))
		resp.Body.Close()
	})
}

func TestKeysTellCallsApart(t *testing.T) {
	in := injectorOf(t)
	client := inProcess(t, desk)
	ctx := chaos.NewContext(t.Context(), in)
	send := func(query, body string) uint64 {
		before := len(in.Events())
		require.NoError(t, ask(ctx, t, client, "https://example.com/orders"+query, body).err)
		return in.Events()[before].Key
	}
	first := send("", `{"a":1,"b":2}`)
	assert.Equal(t, first, send("", `{ "b":2.0, "a":1 }`), "the value counts, not its spelling")
	assert.NotEqual(t, first, send("", `{"a":1,"b":3}`))
	assert.NotEqual(t, first, send("?page=2", `{"a":1,"b":2}`), "the query is part of it")
	assert.NotEqual(t, send("", "plain text"), send("", "other text"))
	assert.Zero(t, send("", ""), "a request without arguments has the empty key")
	assert.EqualValues(t, 1, in.Events()[1].Occurrence)
	large := bytes.Repeat([]byte("x"), 5<<20)
	key := send("", string(large))
	large[len(large)-1] = 'y'
	assert.Equal(t, key, send("", string(large)), "a long body is known by its beginning")
}

// Faults that were made for any call serve HTTP too, and nothing is left open.
func TestFaultsOfOtherPackages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault chaos.Fault
		sent  int
		check func(t *testing.T, g got)
	}{
		{"Fail", fault.Fail(fault.ErrUnavailable), 0, func(t *testing.T, g got) { assert.ErrorIs(t, g.err, fault.ErrUnavailable) }},
		{"LoseReply", fault.LoseReply(), 1, func(t *testing.T, g got) { assert.ErrorIs(t, g.err, context.DeadlineExceeded) }},
		{"Duplicate", fault.Duplicate(), 2, func(t *testing.T, g got) { assert.Equal(t, document, g.body) }},
		{"Replace", fault.Replace(json.RawMessage(`{"id":9}`)), 1, func(t *testing.T, g got) {
			assert.JSONEq(t, `{"id":9}`, g.body)
			assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
		}},
		{"Replace by nothing", fault.Replace(nil), 1, func(t *testing.T, g got) { assert.NoError(t, g.err); assert.Empty(t, g.body) }},
		{"Delay", fault.Delay(time.Hour), 1, func(t *testing.T, g got) { assert.Equal(t, document, g.body) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: tt.fault})
				open, sent := 0, 0
				s := chaoshttp.InProcess(http.HandlerFunc(desk))
				counted := roundTripper(func(r *http.Request) (*http.Response, error) {
					sent++
					doc, err := io.ReadAll(r.Body)
					assert.NoError(t, err)
					assert.Equal(t, `{"order":7}`, string(doc), "each time with its body")
					resp, err := s.RoundTrip(r)
					if err == nil {
						open++
						resp.Body = &counting{resp.Body, &open}
					}
					return resp, err
				})
				g := ask(chaos.NewContext(t.Context(), in), t, &http.Client{Transport: chaoshttp.NewTransport(counted, nil)}, "https://example.com/", `{"order":7}`)
				tt.check(t, g)
				assert.Equal(t, tt.sent, sent)
				assert.Zero(t, open, "bodies that nobody closed")
				assert.True(t, onlyEvent(t, in).Delivered)
				require.NoError(t, s.Close())
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// counting is a body that is taken off the count when it is closed.
type counting struct {
	io.ReadCloser
	open *int
}

func (c *counting) Close() error {
	if c.open != nil {
		*c.open--
		c.open = nil
	}
	return c.ReadCloser.Close()
}

func TestARealFailureStaysARealOne(t *testing.T) {
	in := injectorOf(t, chaos.Rule{When: when.Nth(9), Fault: chaoshttp.HangUp()})
	ctx := chaos.NewContext(t.Context(), in)
	client := inProcess(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) })
	for attempt := 1; attempt <= 3; attempt++ {
		g := ask(ctx, t, client, "https://example.com/", "{}")
		require.NoError(t, g.err, "a status is an answer")
		assert.Equal(t, "down\n", g.body)
		e := in.Events()[attempt-1]
		assert.Equal(t, chaos.OutcomeFailed, e.Outcome)
		assert.Equal(t, "503 Service Unavailable", e.Err)
		assert.Equal(t, attempt, e.Attempt, "a status of failure counts as one")
	}
	down := errors.New("no route")
	_, err := chaoshttp.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, down }), nil).
		RoundTrip(chatRequest(t, ctx))
	assert.Equal(t, down, err)
}

func TestAClosedInjectorLetsNothingThrough(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	in.Close()
	g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, "{}")
	assert.ErrorIs(t, g.err, chaos.ErrCellEnded)
}

func TestAnInjectedAnswerToAHeadHasNoBody(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.Status(503, nil)})
	resp, err := (&http.Client{Transport: chaoshttp.NewTransport(instant{}, &chaoshttp.Options{Injector: in})}).Head("https://example.com/")
	require.NoError(t, err)
	doc, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Empty(t, doc)
	assert.Equal(t, 503, resp.StatusCode)
	assert.Positive(t, resp.ContentLength)
}

func TestARequestWithoutURLIsTheBasesAffair(t *testing.T) {
	in := injectorOf(t)
	_, err := chaoshttp.NewTransport(http.DefaultTransport, &chaoshttp.Options{Injector: in}).RoundTrip(&http.Request{})
	assert.ErrorContains(t, err, "nil Request.URL")
}

// What a fault changes of a request is what is sent.
func TestAFaultMayChangeTheRequest(t *testing.T) {
	for name, change := range map[string]func(r *http.Request){
		"its header": func(r *http.Request) { r.Header.Set("X-Mark", "changed") },
		"its body":   func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("changed")) },
	} {
		for _, of := range []io.Reader{strings.NewReader("order 7"), io.MultiReader(strings.NewReader("order 7"))} {
			in := injectorOf(t, chaos.Rule{Fault: rewriting(change)})
			var seen string
			client := inProcess(t, func(_ http.ResponseWriter, r *http.Request) {
				doc, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				seen = string(doc) + " " + r.Header.Get("X-Mark")
			})
			req := jsonRequest(t, chaos.NewContext(t.Context(), in), http.MethodPost, "https://example.com/", of)
			resp, err := client.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, map[string]string{"its header": "order 7 changed", "its body": "changed "}[name], seen)
		}
	}
}

// rewriting is a fault that sends another request.
type rewriting func(*http.Request)

func (f rewriting) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	r := args.(chaoshttp.Request)
	r.Request = r.Clone(ctx)
	f(r.Request)
	return next(ctx, r)
}
