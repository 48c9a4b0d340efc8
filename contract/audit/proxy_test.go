package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/audit"
)

// An api answers with the status that a request asks for; 1: it cuts the connection.
func api(t *testing.T, serve http.HandlerFunc) *audit.Proxy {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	p, err := audit.NewProxy(s.URL+"/base", "POST /search*")
	require.NoError(t, err)
	return p
}

func byStatus(w http.ResponseWriter, r *http.Request) {
	status := 200
	if _, err := fmt.Sscan(r.URL.Query().Get("status"), &status); err == nil && status == 1 {
		panic(http.ErrAbortHandler)
	}
	if to := r.URL.Query().Get("to"); to != "" {
		w.Header().Set("Location", to)
	}
	w.WriteHeader(status)
}

// send sends "METHOD URL", with headers and a body behind it, by lines.
func send(t *testing.T, at, request string) {
	t.Helper()
	lines := strings.Split(request, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	body := ""
	header := http.Header{}
	for _, line := range lines[1:] {
		if name, value, is := strings.Cut(line, ": "); is && !strings.HasPrefix(line, "{") {
			header.Set(name, value)
		} else {
			body = line
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = header
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	res, err := c.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}

// What a proxy counts as work, and where it does not know. The oracle is the table.
func TestProxyState(t *testing.T) {
	const bare, keys, bodies = "without an idempotency key", "different idempotency keys", "different bodies"
	type counts = map[string]map[string]int
	for why, tc := range map[string]struct {
		requests []string
		want     counts
		unknown  string // a part of the error of State
	}{
		"reads are no work": {requests: []string{"GET /a", "HEAD /a", "OPTIONS /a", "POST /search/all"}, want: counts{}},
		"GraphQL reads by a POST": {requests: []string{"POST /graphql\n" + `{"query":"{ me { id } }"}`,
			"POST /api/graphql\n" + `{"query":"mutation { pay }"}`}, want: counts{"POST /api/graphql": {bare: 1}}},
		"a body with a query elsewhere may delete":   {requests: []string{"POST /users\n" + `{"query":"all"}`}, want: counts{"POST /users": {bare: 1}}},
		"each POST without a key is work":            {requests: []string{"POST /a\n{}", "POST /a\n{}"}, want: counts{"POST /a": {bare: 2}}},
		"an equal PATCH may add again":               {requests: []string{"PATCH /a\n{}", "PATCH /a\n{}"}, unknown: "PATCH /a did its work once: two equal PATCH requests have no idempotency key"},
		"an equal PATCH after a doubt leaves it":     {requests: []string{"PATCH /a?status=503", "PATCH /a?status=503", "PATCH /a?status=503"}, unknown: "two equal PATCH"},
		"an equal PATCH that was refused":            {requests: []string{"PATCH /a?status=409", "PATCH /a?status=409"}, want: counts{}},
		"an equal PATCH with a key":                  {requests: []string{"PATCH /a\nIdempotency-Key: k", "PATCH /a\nIdempotency-Key: k"}, want: counts{"PATCH /a": {keys: 1}}},
		"one key, one work":                          {requests: []string{"POST /a\nIdempotency-Key: k", "POST /a\nIdempotency-Key: k"}, want: counts{"POST /a": {keys: 1}}},
		"a key in the body":                          {requests: []string{"POST /a\n" + `{"idempotency_key":"k"}`, "POST /a\n" + `{"idempotency_key":"k"}`}, want: counts{"POST /a": {keys: 1}}},
		"a key of another path is another":           {requests: []string{"POST /a\nIdempotency-Key: k", "POST /b\nIdempotency-Key: k"}, want: counts{"POST /a": {keys: 1}, "POST /b": {keys: 1}}},
		"one key with two bodies":                    {requests: []string{"POST /a\nIdempotency-Key: k\n{}", "POST /a\nIdempotency-Key: k\n[]"}, unknown: "the same idempotency key and different bodies"},
		"a PUT or DELETE may be repeated":            {requests: []string{"PUT /a\n{}", "PUT /a\n{}", "PUT /a\n[]", "DELETE /a", "DELETE /a?x=1"}, want: counts{"PUT /a": {bodies: 2}, "DELETE /a": {bodies: 2}}},
		"a refused request did nothing":              {requests: []string{"POST /a?status=400", "POST /a?status=409", "DELETE /a?status=404", "POST /a?status=307"}, want: counts{}},
		"a redirect to the result is an answer":      {requests: []string{"POST /a?status=303", "POST /a?status=202"}, want: counts{"POST /a": {bare: 2}}},
		"5xx":                                        {requests: []string{"POST /a?status=503"}, unknown: "POST /a did its work once: the API answered with 503"},
		"a cut answer":                               {requests: []string{"POST /a?status=1"}, unknown: "the API did not answer"},
		"a request that is sent on comes here again": {requests: []string{"POST /a?status=308&to=/b", "POST /b"}, want: counts{"POST /b": {bare: 1}}},
		"or it goes elsewhere":                       {requests: []string{"POST /a?status=307&to=http://other.example/a"}, unknown: "answered with 307"},
		"a time-out is no refusal":                   {requests: []string{"POST /a?status=408"}, unknown: "answered with 408"},
		"nor is a client that gave up":               {requests: []string{"POST /a?status=499"}, unknown: "answered with 499"},
		"being turned away is one":                   {requests: []string{"POST /a?status=429", "POST /a?status=425"}, want: counts{}},
		"what is about keys is none": {requests: []string{"POST /a\nIdempotency-Expiry: 24h\n" + `{"idempotency_mode":"off"}`, "POST /a\nIdempotency-Expiry: 24h\n" + `{"idempotency_mode":"off"}`},
			want: counts{"POST /a": {bare: 2}}},
		"a word that switches keys off or on": {requests: []string{"POST /a\nX-Idempotent: false", "POST /a?idempotent=TRUE", "POST /a\n" + `{"idempotent":"true"}`, "POST /a\n" + `{"idempotency_key":"null"}`},
			want: counts{"POST /a": {bare: 4}}},
		"a key beside such a word":                    {requests: []string{"POST /a\nX-Idempotent: true\nIdempotency-Key: k", "POST /a\nX-Idempotent: true\nIdempotency-Key: k"}, want: counts{"POST /a": {keys: 1}}},
		"a key in the query":                          {requests: []string{"POST /a?idempotency_key=k", "POST /a?idempotency_key=k"}, want: counts{"POST /a": {keys: 1}}},
		"a key in a form":                             {requests: []string{"POST /a\nContent-Type: application/x-www-form-urlencoded\nidempotency_key=k", "POST /a\nContent-Type: application/x-www-form-urlencoded\nidempotency_key=k"}, want: counts{"POST /a": {keys: 1}}},
		"a key that is a number":                      {requests: []string{"POST /a\n" + `{"idempotencyKey":7}`, "POST /a\n" + `{"idempotencyKey":7}`}, want: counts{"POST /a": {keys: 1}}},
		"the order of members":                        {requests: []string{"PUT /a\n" + `{"a":1,"b":2}`, "PUT /a\n" + `{ "b": 2, "a": 1 }`}, want: counts{"PUT /a": {bodies: 1}}},
		"repeated members have an order":              {requests: []string{"PUT /a\n" + `{"a":1,"a":2}`, "PUT /a\n" + `{"a":2,"a":1}`}, want: counts{"PUT /a": {bodies: 2}}},
		"another member named like it":                {requests: []string{"POST /graphql\n" + `{"query":"mutation { pay }","Query":"{ me }"}`}, want: counts{"POST /graphql": {bare: 1}}},
		"an earlier success with the key tells":       {requests: []string{"POST /a\nIdempotency-Key: k", "POST /a?status=1\nIdempotency-Key: k"}, want: counts{"POST /a": {keys: 1}}},
		"a refusal behind a doubt leaves it":          {requests: []string{"POST /a?status=1\nIdempotency-Key: k", "POST /a?status=409\nIdempotency-Key: k"}, unknown: "did not answer"},
		"ids of a path are no difference of requests": {requests: []string{"POST /v1/pay_29QQoUBi/refund", "POST /v1/41/refund"}, want: counts{"POST /v1/{id}/refund": {bare: 2}}},
	} {
		p := api(t, byStatus)
		front := httptest.NewServer(p)
		for _, request := range tc.requests {
			send(t, front.URL, request)
		}
		state, err := p.State(t.Context())
		front.Close()
		if tc.unknown != "" {
			assert.ErrorContains(t, err, tc.unknown, why)
			continue
		}
		require.NoError(t, err, why)
		all, total := map[string]any{}, 0
		for request, how := range tc.want {
			for _, n := range how {
				total += n
			}
			all[request] = how
		}
		all["in all"] = total
		assert.Equal(t, map[string]any{"requests that may have done work": all}, state, why)
	}
}

// A request reaches the API as it was sent, and its answer comes back; nothing of it is in the state.
func TestProxyPassesOn(t *testing.T) {
	p := api(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		fmt.Fprint(w, r.URL.Path, " ", r.URL.RawQuery, " ", r.Header.Get("Authorization"), " ", string(body))
	})
	front := httptest.NewServer(p)
	defer front.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/pay?api_key=s3cret;x", strings.NewReader(`{"card":"4111"}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer s3cret")
	req.Header.Set("Idempotency-Key", "s3cret")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, `/base/pay api_key=s3cret;x Bearer s3cret {"card":"4111"}`, string(text))
	assert.Equal(t, "yes", res.Header.Get("X-Answer"))
	state, err := p.State(t.Context())
	require.NoError(t, err)
	doc, err := json.Marshal(state)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "s3cret")
	assert.NotContains(t, string(doc), "4111")

	upgrade, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL, http.NoBody)
	require.NoError(t, err)
	upgrade.Header.Set("Upgrade", "websocket")
	res, err = http.DefaultClient.Do(upgrade)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, http.StatusNotImplemented, res.StatusCode)
}

// A request that its sender gave up goes on to its answer, and State waits for that.
func TestProxyWaitsForAnswers(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	p := api(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-answer
	})
	front := httptest.NewServer(p)
	defer front.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/a", http.NoBody)
		if err == nil {
			_, err = http.DefaultClient.Do(req) //nolint:bodyclose // there is no answer
		}
		gone <- err
	}()
	<-arrived
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	_, err := p.State(ctx)
	require.ErrorContains(t, err, "the API has not answered 1 request")
	states := make(chan any)
	go func() {
		state, err := p.State(t.Context())
		assert.NoError(t, err)
		states <- state
	}()
	select {
	case <-states:
		t.Fatal("the state was read before the answer")
	default:
	}
	close(answer)
	assert.Equal(t, map[string]any{"requests that may have done work": map[string]any{"in all": 1,
		"POST /a": map[string]int{"without an idempotency key": 1}}}, <-states)
}

func TestNewProxyRefuses(t *testing.T) {
	for _, to := range []string{"", "127.0.0.1:80", "ftp://host", "http://", "http://user:s3cret@host", "http://host/?key=s3cret", "http://ho st"} {
		_, err := audit.NewProxy(to, "[")
		assert.ErrorContains(t, err, "to is no such address", to)
		assert.ErrorContains(t, err, "reads[0]", to)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}

// A server's refunds, seen by what reaches its API.
func ExampleProxy() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer api.Close()
	proxy, err := audit.NewProxy(api.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	for range 2 { // the tool under audit
		res, err := http.PostForm(front.URL+"/v1/refunds", url.Values{"payment": {"pay_1"}})
		if err == nil {
			err = res.Body.Close()
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	state, err := proxy.State(context.Background()) // of an audit.World
	fmt.Println(state, err)
	// Output:
	// map[requests that may have done work:map[POST /v1/refunds:map[without an idempotency key:2] in all:2]] <nil>
}
