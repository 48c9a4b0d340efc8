package httpagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/httpagent"
)

// serve starts a server that answers with a status and a body, and remembers
// the last request.
type server struct {
	*httptest.Server
	method, contentType, extra, body string
	requests                         int
}

func serve(t *testing.T, status int, answer string) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.requests++
		s.method, s.contentType, s.extra, s.body = r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Extra"), string(body)
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestHTTPAgent(t *testing.T) {
	for _, tc := range []struct {
		reason string
		status int
		answer string
		change func(*httpagent.Options)
		sent   string
		want   string
		fails  string // a part of the error
	}{
		{"the defaults", 200, `{"output":"noon","more":1}`, func(*httpagent.Options) {}, `{"input":"What \"time\"?"}`, "noon", ""},
		{"other formats", 200, `noon`, func(o *httpagent.Options) {
			o.Encode = func(p string) ([]byte, error) { return []byte("ask: " + p), nil }
			o.Decode = func(b []byte) (string, error) { return strings.ToUpper(string(b)), nil }
		}, `ask: What "time"?`, "NOON", ""},
		{"an empty answer is an answer", 200, `{"output":""}`, func(*httpagent.Options) {}, "", "", ""},
		{"a status outside 2xx", 503, `down for maintenance`, func(*httpagent.Options) {}, "", "", `answered 503 Service Unavailable; it begins "down for maintenance"`},
		{"no JSON", 200, `noon`, func(*httpagent.Options) {}, "", "", "answered 200 OK: the body is no JSON object: invalid character"},
		{"no such field", 200, `{"result":"noon"}`, func(*httpagent.Options) {}, "", "", `the body has no string "output"; it begins "{\"result\"`},
		{"a field of another type", 200, `{"output":5}`, func(*httpagent.Options) {}, "", "", `the body has no string "output"`},
		{"a body that is too long", 200, `{"output":"noon"}` + strings.Repeat(" ", 1<<20-16), func(*httpagent.Options) {}, "", "", "the body has more than 1048576 bytes"},
		{"one that just fits", 200, `{"output":"noon"}` + strings.Repeat(" ", 1<<20-17), func(*httpagent.Options) {}, "", "noon", ""},
		{"Encode fails", 200, ``, func(o *httpagent.Options) {
			o.Encode = func(string) ([]byte, error) { return nil, errors.New("no words") }
		}, "", "", "encoding the prompt for http://127.0.0.1"},
	} {
		s := serve(t, tc.status, tc.answer)
		o := httpagent.Options{URL: s.URL, Header: http.Header{"x-extra": {"yes"}}}
		tc.change(&o)
		got, err := httpagent.Agent(&o)(t.Context(), `What "time"?`, nil)
		if tc.fails != "" {
			assert.ErrorContains(t, err, tc.fails, tc.reason)
			var refused *httpagent.Error
			assert.Equal(t, o.Encode == nil, errors.As(err, &refused), tc.reason)
			continue
		}
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.want, got, tc.reason)
		assert.Equal(t, "POST application/json yes", fmt.Sprint(s.method, " ", s.contentType, " ", s.extra), tc.reason)
		if tc.sent != "" {
			assert.Equal(t, tc.sent, s.body, tc.reason)
		}
	}
}

func TestHTTPErrorsAreShort(t *testing.T) {
	s := serve(t, 500, strings.Repeat("x", 10_000)+"\xff")
	_, err := httpagent.Agent(&httpagent.Options{URL: s.URL})(t.Context(), "", nil)
	var refused *httpagent.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 500, refused.Status)
	assert.Len(t, refused.Excerpt, 256)
}

// An error has no credentials of the address: neither of a user nor those in its query.
func TestErrorsHaveNoCredentials(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	_, host, _ := strings.Cut(refusing.URL, "//")
	for _, host := range []string{host, "127.0.0.1:1"} {
		address := "http://ann:hunter2@" + host + "/a?api_key=sk-proj-0123456789abcdefghij"
		_, err := httpagent.Agent(&httpagent.Options{URL: address})(t.Context(), "hi", nil)
		for _, err := range []error{err, httpagent.Reset(address)(t.Context())} {
			require.ErrorContains(t, err, host+"/a?api_key=")
			assert.NotContains(t, err.Error(), "hunter2")
			assert.NotContains(t, err.Error(), "sk-proj")
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := httpagent.Agent(&httpagent.Options{URL: "ftp://example.org"})(t.Context(), "", nil)
	assert.EqualError(t, err, `httpagent: Options.URL is "ftp://example.org"; allowed: an absolute http or https URL`)
	for _, url := range []string{"", "example.org", "http://", "http://[", "/path"} {
		var field *contract.FieldError
		_, err := httpagent.Agent(&httpagent.Options{URL: url})(t.Context(), "", nil)
		assert.ErrorAs(t, err, &field, url)
		assert.ErrorAs(t, httpagent.Reset(url)(t.Context()), &field, url)
	}
}

func TestHTTPAgentEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server watches the connection from here on
		close(arrived)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := httpagent.Agent(&httpagent.Options{URL: s.URL})(ctx, "", nil)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestHTTPReset(t *testing.T) {
	for status, ok := range map[int]bool{200: true, 204: true, 299: true, 300: false, 404: false, 500: false} {
		s := serve(t, status, "")
		err := httpagent.Reset(s.URL)(t.Context())
		assert.Equal(t, ok, err == nil, "%d: %v", status, err)
		assert.Equal(t, "POST", s.method)
		var refused *httpagent.Error
		assert.Equal(t, !ok, errors.As(err, &refused))
	}
	s := serve(t, 200, strings.Repeat("x", 5_000_000))
	assert.NoError(t, httpagent.Reset(s.URL)(t.Context()), "what it says does not matter")
}

// A state is what the endpoint answers, and every other answer is an error that says why.
func TestHTTPState(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
		want   any
		err    string
	}{
		{200, `{"refunds": [12345678901234567890, "a", null]}`,
			map[string]any{"refunds": []any{json.Number("12345678901234567890"), "a", nil}}, ""},
		{200, `null`, nil, ""},
		{200, ``, nil, "the body is no JSON"},
		{200, `{} {}`, nil, "the body is no JSON"},
		{200, `<html>`, nil, "the body is no JSON; it begins \"<html>\""},
		{200, `"` + strings.Repeat("x", 1<<20) + `"`, nil, "the body has more than 1048576 bytes"},
		{500, `{"a": 1}`, nil, "answered 500 Internal Server Error"},
		{302, `{"a": 1}`, nil, "302"},
	} {
		s := serve(t, row.status, row.body)
		state, err := httpagent.State(s.URL)(t.Context())
		assert.Equal(t, "GET", s.method)
		if row.err == "" {
			require.NoError(t, err)
			assert.Equal(t, row.want, state)
			continue
		}
		require.ErrorContains(t, err, row.err)
		var refused *httpagent.Error
		assert.ErrorAs(t, err, &refused)
	}
	var field *contract.FieldError
	_, err := httpagent.State("ledger")(t.Context())
	assert.ErrorAs(t, err, &field)
}

// TestHTTPMatrix is an agent that remembers, behind two endpoints.
func TestHTTPMatrix(t *testing.T) {
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agent", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]string{"output": fmt.Sprint("question ", asked)}))
	})
	mux.HandleFunc("POST /reset", func(http.ResponseWriter, *http.Request) { asked = 0 })
	s := httptest.NewServer(mux)
	defer s.Close()
	first := contract.Invariant{Name: "first", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
		if o.Response != "question 1" {
			return fmt.Errorf("it is %s", o.Response)
		}
		return nil
	}}
	m := &contract.Matrix{
		World: &contract.World{Agent: httpagent.Agent(&httpagent.Options{URL: s.URL + "/agent"})}, Trials: 3,
		Prompts: []string{"p"}, Scenarios: []contract.Scenario{contract.Calm()}, Invariants: []contract.Invariant{first},
	}
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "Warning: No reset_endpoint configured.")
	assert.Equal(t, 0, r.Score.Passed)
	m.Reset = httpagent.Reset(s.URL + "/reset")
	r, err = m.Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, 3, r.Score.Passed)
}
