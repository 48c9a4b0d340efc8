package toolkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/contract/experiment/toolkit"
)

// once runs a document whose method is one action with this provider.
func once(t *testing.T, provider string, p *toolkit.Providers) experiment.ActivityResult {
	t.Helper()
	e := build(t, `{"title": "t", "description": "", "configuration": {"who": "world", "n": 7}, "secrets": {"s": {"key": "s3cr&t"}},
		"method": [{"type": "action", "name": "a", "provider": `+provider+`}]}`, p)
	j, err := experiment.Run(t.Context(), e, nil)
	require.NoError(t, err)
	require.Len(t, j.Run, 1)
	return j.Run[0]
}

// echo answers with what it was asked, or as the path says.
func echo(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/hang":
		<-r.Context().Done()
	case "/fail":
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	case "/large":
		_, _ = io.WriteString(w, strings.Repeat("x", 2<<20))
	case "/wrong":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{")
	default:
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"is": fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body), "type": r.Header.Get("Content-Type"), "x": r.Header.Get("X"),
		})
	}
}

func TestHTTPProvider(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	for provider, want := range map[string]string{
		`"url": "URL/a"`: `{"is": "GET /a ", "type": "", "x": ""}`,
		`"url": "URL/${who}", "headers": {"X": "hello ${who}"}`:                                                        `{"is": "GET /world ", "type": "", "x": "hello world"}`,
		`"url": "URL/a?b=1", "arguments": {"c": "${n}", "d": ["x", "y z"]}`:                                            `{"is": "GET /a?b=1&c=7&d=x&d=y+z ", "type": "", "x": ""}`,
		`"url": "URL/a", "method": "post", "arguments": {"b": "x y", "n": "${n}"}`:                                     `{"is": "POST /a b=x+y&n=7", "type": "application/x-www-form-urlencoded", "x": ""}`,
		`"url": "URL/a", "method": "PUT", "headers": {"Content-Type": "application/json"}, "arguments": {"n": "${n}"}`: `{"is": "PUT /a {\"n\":7}", "type": "application/json", "x": ""}`,
		`"url": "URL/fail"`:  `"overloaded\n"`,
		`"url": "URL/wrong"`: `"{"`,
	} {
		rec := once(t, `{"type": "http", `+strings.ReplaceAll(provider, "URL", server.URL)+`}`, nil)
		require.Equal(t, experiment.ActivitySucceeded, rec.Status, "%s: %s", provider, rec.Exception)
		var output struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
		require.NoError(t, json.Unmarshal(rec.Output, &output))
		assert.JSONEq(t, want, string(output.Body), provider)
		assert.NotEmpty(t, output.Headers["Content-Type"])
		if strings.Contains(provider, "/fail") {
			assert.Equal(t, 503, output.Status, "an error status is an output")
		} else {
			assert.Equal(t, 200, output.Status)
		}
	}
	rec := once(t, `{"type": "http", "url": "`+server.URL+`/large"}`, nil)
	assert.Contains(t, string(rec.Output[len(rec.Output)-100:]), "x…", "a long answer is cut")
}

func TestHTTPFailures(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	rec := once(t, `{"type": "http", "url": "`+server.URL+`/hang?key=${key}", "timeout": 0.05}`, nil)
	assert.Contains(t, rec.Exception, "context deadline exceeded")
	assert.Contains(t, rec.Exception, "/hang?key=[redacted]")
	server.Close()
	rec = once(t, `{"type": "http", "url": "`+server.URL+`/a"}`, nil)
	assert.Equal(t, experiment.ActivityFailed, rec.Status, "a refused connection")
	rec = once(t, `{"type": "http", "url": "http://["}`, nil)
	assert.Contains(t, rec.Exception, "toolkit: ")
}

func TestHTTPRetriesConnections(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) < 3 {
			panic(http.ErrAbortHandler) // the connection is cut
		}
		echo(w, r)
	}))
	defer server.Close()
	rec := once(t, `{"type": "http", "method": "POST", "url": "`+server.URL+`/a", "arguments": {"a": 1}, "max_retries": 1}`, nil)
	assert.Equal(t, experiment.ActivityFailed, rec.Status)
	assert.EqualValues(t, 2, calls.Load())
	rec = once(t, `{"type": "http", "method": "POST", "url": "`+server.URL+`/a", "arguments": {"a": 1}, "max_retries": 1}`, nil)
	assert.Equal(t, experiment.ActivitySucceeded, rec.Status)
	assert.Contains(t, string(rec.Output), "POST /a a=1", "the body is sent again")
}

func TestCertificatesAreVerifiedUnlessTheDocumentSaysNotTo(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer server.Close()
	server.Config.ErrorLog = nil
	rec := once(t, `{"type": "http", "url": "`+server.URL+`/a"}`, nil)
	assert.Contains(t, rec.Exception, "certificate")
	rec = once(t, `{"type": "http", "url": "`+server.URL+`/a", "verify_tls": false}`, nil)
	assert.Equal(t, experiment.ActivitySucceeded, rec.Status, rec.Exception)
	rec = once(t, `{"type": "http", "url": "`+server.URL+`/a"}`, &toolkit.Providers{HTTP: server.Client()})
	assert.Equal(t, experiment.ActivitySucceeded, rec.Status, rec.Exception)
	rec = once(t, `{"type": "http", "url": "`+server.URL+`/a", "verify_tls": false}`, &toolkit.Providers{HTTP: &http.Client{Transport: roundTripper{}}})
	assert.Contains(t, rec.Exception, "toolkit: verify_tls is false")
}

type roundTripper struct{}

func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return nil, context.Canceled }
