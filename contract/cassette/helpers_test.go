package cassette_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
)

// api is the address that clients know. Live calls of tests are led to a server of the test.
const api = "https://api.example/v1"

// led sends requests to the server, whatever host they name.
type led struct {
	http.RoundTripper
	host string
}

func (l led) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", l.host
	return l.RoundTripper.RoundTrip(r)
}

// serve starts a provider on a real socket, outside of all bubbles, and returns what makes transports to it.
func serve(t testing.TB, h http.Handler) func() http.RoundTripper {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return func() http.RoundTripper { return led{s.Client().Transport, u.Host} }
}

// noNetwork is the base of a tape that only plays.
func noNetwork() http.RoundTripper { panic("a live call") }

func tapePath(t testing.TB) string { return filepath.Join(t.TempDir(), "test.cassette.json") }

func open(t testing.TB, path string, o *cassette.Options) *cassette.Cassette {
	t.Helper()
	if o.Base == nil {
		o.Base = noNetwork
	}
	c, err := cassette.Open(path, o)
	require.NoError(t, err)
	return c
}

// recorded records what the calls ask, in order, and returns the tape's path.
func recorded(t testing.TB, h http.Handler, record func(p *cassette.Player)) string {
	t.Helper()
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, h)})
	record(c.Player())
	require.NoError(t, c.Close())
	return path
}

// post asks and returns the answer's body, or the error.
func post(p http.RoundTripper, path, body string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, api+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	return do(p, r)
}

func do(p http.RoundTripper, r *http.Request) (string, error) {
	resp, err := (&http.Client{Transport: p}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return string(all), err
}

func mustPost(t testing.TB, p http.RoundTripper, path, body string) string {
	t.Helper()
	answer, err := post(p, path, body)
	require.NoError(t, err)
	return answer
}

// counting answers each request with another number, and what was asked.
func counting() http.Handler {
	requests := make(chan int, 1)
	requests <- 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := <-requests + 1
		requests <- n
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"answer":%d,"to":%q}`, n, r.URL.Path+string(body))
	})
}

// tapeOf writes a tape by hand: exchanges as the file has them.
func tapeOf(t testing.TB, exchanges ...string) string {
	t.Helper()
	path := tapePath(t)
	text := `{"format":"shakedown/cassette","version":1,"exchanges":[` + strings.Join(exchanges, ",\n") + `]}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// exchange is one of a tape: in the place "cell" or "cell lane", a request with the body, and the answer in text.
func exchange(at, body, answer string) string {
	cell, lane, _ := strings.Cut(at, " ")
	var where string
	if cell != "" {
		where = fmt.Sprintf(`"cell":%q,`, cell)
	}
	if lane != "" {
		where += fmt.Sprintf(`"lane":%q,`, lane)
	}
	return fmt.Sprintf(`{%s"request":{"method":"POST","url":"%s/chat","body":%s},"response":{"status":200,"text":%q}}`,
		where, api, body, answer)
}

// bubble runs cells in virtual time, as package contracttest does.
func bubble(t *testing.T) contract.Bubble {
	return func(run func()) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%v", v)
			}
		}()
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
}

// virtual are options that run everything in bubbles.
func virtual(t *testing.T, workers int) *contract.RunOptions {
	return &contract.RunOptions{Workers: workers, Keep: contract.KeepAll, Harness: contract.Harness{
		Calm:   bubble(t),
		Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(bubble(t)) },
	}}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(bytes.TrimSpace(b))
}

// waitFor waits for goroutines outside of a bubble.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for range 10_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it did not happen")
}
