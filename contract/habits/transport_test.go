package habits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract/habits"
)

// A shop is a scripted server without a network. It is the oracle: it does each request once for each key, and counts.
type shop struct {
	script []reply
	got    []string // method, body and key of each request; a key is a letter
	keys   []string
	worked []string // the keys under which something was done
	done   int
	open   int // bodies that nobody closed
}

// A reply is what happens to a request, before or after the work.
type reply struct {
	status int // 0: 200
	header http.Header
	err    error // in place of a response
	work   bool  // it is done nevertheless
	slow   time.Duration
	body   io.Reader
}

func (s *shop) RoundTrip(r *http.Request) (*http.Response, error) {
	text := []byte{}
	if r.Body != nil {
		text, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	letter, key := "-", r.Header.Get("Idempotency-Key")
	if key != "" {
		if !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
		letter = string('a' + byte(slices.Index(s.keys, key)))
	}
	s.got = append(s.got, fmt.Sprintf("%s %s %s", r.Method, text, letter))
	next := reply{work: true}
	if len(s.script) > 0 {
		next, s.script = s.script[0], s.script[1:]
	}
	if err := chaos.Sleep(r.Context(), next.slow); err != nil {
		return nil, err
	}
	if next.work && (key == "" || !slices.Contains(s.worked, key)) {
		s.done++
		s.worked = append(s.worked, key)
	}
	if next.err != nil {
		return nil, next.err
	}
	if next.body == nil {
		next.body = strings.NewReader(fmt.Sprint("answer ", len(s.got)))
	}
	s.open++
	return &http.Response{StatusCode: max(next.status, 200), Header: next.header, Request: r,
		Body: &shopBody{next.body, s}}, nil
}

type shopBody struct {
	io.Reader
	shop *shop
}

func (b *shopBody) Close() error { b.shop.open--; return nil }

// send returns the status and the body, or the error.
func send(t *testing.T, rt http.RoundTripper, req *http.Request) string {
	t.Helper()
	header := req.Header.Clone()
	resp, err := rt.RoundTrip(req)
	assert.Equal(t, header, req.Header, "a transport does not change its request")
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

// requestOf reads "POST body header=value".
func requestOf(ctx context.Context, t *testing.T, words string) *http.Request {
	t.Helper()
	part := strings.Fields(words)
	var body io.Reader
	if len(part) > 1 {
		body = strings.NewReader(part[1])
	}
	req, err := http.NewRequestWithContext(ctx, part[0], "https://shop.example/charges", body)
	require.NoError(t, err)
	for _, h := range part[min(len(part), 2):] {
		name, value, _ := strings.Cut(h, "=")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	if len(part) > 1 && part[1] == "stream" {
		req.GetBody = nil
	}
	if len(part) > 1 && part[1] == "once" {
		req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("once") }
	}
	return req
}

func TestTransport(t *testing.T) {
	key, retries := habits.IdempotencyKeys(nil), habits.Retries(nil)
	lost, busy := reply{err: fault.ErrConnectionReset, work: true}, reply{status: 503}
	wait := reply{status: 429, header: http.Header{"Retry-After": {"2"}}}
	refused := reply{err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
	for _, tt := range []struct {
		why    string
		habits []*habits.Habit
		script []reply
		send   []string
		want   []string // what the program gets
		got    []string // what the server gets
		done   int
	}{
		{"a read is repeated", []*habits.Habit{retries}, []reply{busy, lost}, []string{"GET"}, []string{"200 answer 3"}, []string{"GET  -", "GET  -", "GET  -"}, 2},
		{"PUT and DELETE too, with the body", []*habits.Habit{retries}, []reply{lost, {work: true}, lost}, []string{"PUT x", "DELETE x"},
			[]string{"200 answer 2", "200 answer 4"}, []string{"PUT x -", "PUT x -", "DELETE x -", "DELETE x -"}, 4},
		{"POST of unknown outcome is not", []*habits.Habit{retries}, []reply{lost, {status: 500, work: true}}, []string{"POST x", "POST x"},
			[]string{"error: read: connection reset by peer", "500 answer 2"}, []string{"POST x -", "POST x -"}, 2},
		{"one that was turned away is", []*habits.Habit{retries}, []reply{wait, refused, {status: 503, header: wait.header}}, []string{"POST x"}, []string{"200 answer 4"},
			[]string{"POST x -", "POST x -", "POST x -", "POST x -"}, 1},
		{"not if the base says so in words, or after another error", []*habits.Habit{retries}, []reply{{err: fault.ErrConnectionRefused, work: true},
			{err: fmt.Errorf("gave up after 2 attempts: %w", refused.err), work: true}}, []string{"POST x", "POST y"},
			[]string{"error: connect: connection refused", "error: gave up after 2 attempts: dial tcp: connection refused"}, []string{"POST x -", "POST y -"}, 2},
		{"an answer that does not pass uses a key up, being turned away does not", []*habits.Habit{key}, []reply{{status: 402}, wait, refused}, []string{"POST x", "POST x", "POST x", "POST x"},
			[]string{"402 answer 1", "429 answer 2", "error: dial tcp: connection refused", "200 answer 4"}, []string{"POST x a", "POST x b", "POST x b", "POST x b"}, 1},
		{"unless its body cannot be read again", []*habits.Habit{key, retries}, []reply{wait}, []string{"POST stream"}, []string{"429 answer 1"}, []string{"POST stream -"}, 0},
		{"also PATCH, and no other", []*habits.Habit{key}, nil, []string{"PATCH x", "GET", "PUT x"}, []string{"200 answer 1", "200 answer 2", "200 answer 3"},
			[]string{"PATCH x a", "GET  -", "PUT x -"}, 3},
		{"another body is another request, and so are other credentials", []*habits.Habit{key}, []reply{lost, lost}, []string{"POST x", "POST y", "POST x Authorization=z"},
			[]string{"error: read: connection reset by peer", "error: read: connection reset by peer", "200 answer 3"}, []string{"POST x a", "POST y b", "POST x c"}, 3},
		{"a DELETE whose answer was lost has another one", []*habits.Habit{retries}, []reply{lost, {status: 404}}, []string{"DELETE"}, []string{"404 answer 2"},
			[]string{"DELETE  -", "DELETE  -"}, 1},
		{"habits of tools are left out", habits.All()[:4], []reply{{status: 404}}, []string{"GET", "GET"}, []string{"404 answer 1", "200 answer 2"}, []string{"GET  -", "GET  -"}, 1},
		{"one that gives no second body is not sent again", []*habits.Habit{retries}, []reply{busy}, []string{"PUT once"}, []string{"503 answer 1"}, []string{"PUT once -"}, 0},
		{"a deadline is one of each try", []*habits.Habit{retries, habits.Deadlines(nil)}, []reply{{slow: time.Hour}, {slow: time.Second, work: true}}, []string{"GET"},
			[]string{"200 answer 2"}, []string{"GET  -", "GET  -"}, 1},
	} {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{script: tt.script}
				rt := habits.Transport(s, tt.habits...)
				var got []string
				for _, words := range tt.send {
					got = append(got, send(t, rt, requestOf(t.Context(), t, words)))
				}
				assert.Equal(t, tt.want, got)
				assert.Equal(t, tt.got, s.got)
				assert.Equal(t, tt.done, s.done)
				assert.Zero(t, s.open, "all bodies are closed")
			})
		})
	}
}

// What a transport knows of its request it does not tell a tool, for which the request may be one step of several.
func TestTransportWithinATool(t *testing.T) {
	for _, next := range []reply{{err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}, {status: 429}} {
		r := inBubble(t, map[string][]step{"note": {func(ctx context.Context, work func() string) (json.RawMessage, error) {
			work()
			client := &http.Client{Transport: habits.Transport(&shop{script: []reply{next}}, habits.IdempotencyKeys(nil))}
			resp, err := client.Do(requestOf(ctx, t, "POST mail"))
			if err != nil {
				return nil, err
			}
			return nil, &chaoshttp.HTTPError{StatusCode: resp.StatusCode}
		}}}, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) { ask(ctx, tools, "note", order) }, habits.Retries(nil))
		assert.Equal(t, []string{"note 7"}, r.done)
	}
}

// A deadline holds up to the end of the body, and the context of the request does too.
func TestTransportDeadlineOfABody(t *testing.T) {
	for why, tt := range map[string]struct {
		after time.Duration // of the caller's context
		want  error
		at    time.Duration
	}{
		"the deadline": {time.Hour, context.DeadlineExceeded, 10 * time.Second},
		"the caller":   {time.Second, context.DeadlineExceeded, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tt.after)
			defer cancel()
			s := roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(stalled{r.Context()})}, nil
			})
			resp, err := habits.Transport(s, habits.Deadlines(nil), habits.Retries(nil)).RoundTrip(requestOf(ctx, t, "GET"))
			require.NoError(t, err, why)
			_, err = io.ReadAll(resp.Body)
			require.ErrorIs(t, err, tt.want, why)
			assert.Equal(t, tt.at, time.Since(began), why)
			require.NoError(t, resp.Body.Close())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := habits.Transport(&shop{script: []reply{{slow: time.Hour}}}, habits.Deadlines(nil)).RoundTrip(requestOf(t.Context(), t, "GET"))
		require.EqualError(t, err, "GET shop.example/charges did not answer within 10s: context deadline exceeded")
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stalled is a body of which nothing comes.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }

// Whatever the body of a failed try is, it holds up neither the next try nor its end; a base may leave it out.
func TestTransportBodyOfAFailedTry(t *testing.T) {
	for why, body := range map[string]func(context.Context) io.ReadCloser{
		"none":    func(context.Context) io.ReadCloser { return nil },
		"stalled": func(ctx context.Context) io.ReadCloser { return io.NopCloser(stalled{ctx}) },
		"endless": func(context.Context) io.ReadCloser { return io.NopCloser(endless{}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			began, tries := time.Now(), 0
			s := roundTripper(func(r *http.Request) (*http.Response, error) {
				tries++
				deadline, _ := r.Context().Deadline()
				assert.Equal(t, 10*time.Second, time.Until(deadline), why)
				return &http.Response{StatusCode: 503 - 303*(tries/3), Body: body(r.Context()), Header: http.Header{"Retry-After": {"2"}}}, nil
			})
			resp, err := habits.Transport(s, habits.Deadlines(nil), habits.Retries(nil)).RoundTrip(requestOf(t.Context(), t, "GET"))
			require.NoError(t, err, why)
			assert.Equal(t, 200, resp.StatusCode)
			assert.Equal(t, 4*time.Second, time.Since(began), why)
			require.NoError(t, resp.Body.Close())
		})
	}
}

// A base may break the contract of [http.RoundTripper]. The caller gets an error then, as from [http.Client].
func TestTransportOfAWrongBase(t *testing.T) {
	tests := []struct {
		why  string
		resp *http.Response
		err  error
		want string
	}{
		{"neither a response nor an error", nil, nil,
			"habits: the transport (habits_test.roundTripper) returned a nil *Response with a nil error"},
		{"both: the response is ignored", &http.Response{StatusCode: 200, Body: http.NoBody}, errors.New("reset"), "reset"},
	}
	for _, all := range [][]*habits.Habit{nil, {habits.IdempotencyKeys(nil), habits.Retries(nil), habits.Deadlines(nil)}} {
		for _, tt := range tests {
			synctest.Test(t, func(t *testing.T) {
				base := roundTripper(func(*http.Request) (*http.Response, error) { return tt.resp, tt.err })
				resp, err := habits.Transport(base, all...).RoundTrip(requestOf(t.Context(), t, "POST pay"))
				assert.EqualError(t, err, tt.want, tt.why)
				assert.Nil(t, resp, tt.why)
			})
		}
	}
}

// A request that no client makes gets the base's own error, and what the client asks of the base reaches it.
func TestTransportPassesOn(t *testing.T) {
	address := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	for want, req := range map[string]*http.Request{
		"http: nil Request.URL":    {Method: "POST", Header: http.Header{}},
		"http: nil Request.Header": {Method: "POST", URL: address},
	} {
		_, err := habits.Transport(nil, habits.IdempotencyKeys(nil), habits.Retries(nil)).RoundTrip(req)
		require.EqualError(t, err, want)
	}
	base := &idle{}
	(&http.Client{Transport: habits.Transport(base)}).CloseIdleConnections()
	assert.Equal(t, 1, base.closed)
	(&http.Client{Transport: habits.Transport(&shop{})}).CloseIdleConnections()
}

type idle struct {
	shop
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

// endless is a body that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The events of a transport inside show which requests are the program's.
func TestTransportEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Name: "busy", Target: "*", When: when.First(1), Fault: chaoshttp.Status(503, nil)})
		require.NoError(t, err)
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true})
		rt := habits.Transport(chaoshttp.NewTransport(&shop{}, nil), habits.Retries(nil))
		assert.Equal(t, "200 answer 1", send(t, rt, requestOf(chaos.NewContext(t.Context(), in), t, "GET")))
		var who []string
		for _, e := range in.Events() {
			who = append(who, e.Habit)
		}
		assert.Equal(t, []string{"", "bounded-retries"}, who)
	})
}
