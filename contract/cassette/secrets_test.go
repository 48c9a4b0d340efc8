package cassette_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

// A credential that a request carries, and that stands in the request's body or that the provider gives back, reaches no
// file. Where a request carries one, and how an answer spells it, package tape tests.
func TestNoFileHasASecret(t *testing.T) {
	const secret = `Zt7/yQ+"0p<Lm 3Vé`
	quote := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	for _, row := range []struct {
		why, asked string
		refused    bool // nothing is written
		answer     func(w http.ResponseWriter)
	}{
		{"not at all", `"hello"`, false, func(w http.ResponseWriter) { io.WriteString(w, "fine") }},
		{"in what was asked", quote(secret), true, func(w http.ResponseWriter) { io.WriteString(w, "fine") }},
		{"in a header that is not kept", `"hello"`, false, func(w http.ResponseWriter) { w.Header().Set("Set-Cookie", "k="+url.QueryEscape(secret)) }},
		{"in a header that is kept", `"hello"`, true, func(w http.ResponseWriter) { w.Header().Set("X-Request-Id", url.QueryEscape(secret)) }},
		{"in JSON", `"hello"`, true, func(w http.ResponseWriter) { fmt.Fprintf(w, `{"said":%s}`, quote(secret)) }},
		{"compressed", `"hello"`, true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, secret)
			z.Close()
		}},
		{"in deltas of a stream", `"hello"`, true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, letter := range secret {
				fmt.Fprintf(w, "data: {\"delta\":%s}\n\n", quote(string(letter)))
				w.(http.Flusher).Flush()
			}
		}},
	} {
		path := tapePath(t)
		c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { row.answer(w) }))})
		r, err := http.NewRequest(http.MethodPost, api+"/chat", strings.NewReader(`{"q":`+row.asked+`}`))
		require.NoError(t, err)
		r.SetBasicAuth("ann", secret)
		_, err = do(c.Player(), r)
		require.NoError(t, err, row.why)
		err = c.Close()
		if !row.refused {
			require.NoError(t, err, row.why)
			assert.NotContains(t, readFile(t, path), "Zt7", row.why)
			continue
		}
		var found *cassette.SecretError
		require.ErrorAs(t, err, &found, row.why)
		assert.Equal(t, 1, found.Exchange, row.why)
		assert.NotContains(t, err.Error(), "0p<Lm", row.why)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Empty(t, entries, row.why)
	}
}

// What Close says of answers that were not kept has no key: neither one of the address nor one that an error repeats.
func TestCloseSaysNoSecret(t *testing.T) {
	const token = "Zt7yQ0pLm3VbX9KdW2sR"
	c := open(t, tapePath(t), &cassette.Options{Mode: cassette.Auto, Base: func() http.RoundTripper {
		return refusing{fmt.Errorf("bad key %q\x1b[2J of %s", token, "ghp_abcdefghijklmnopqrst")}
	}})
	r, err := http.NewRequest(http.MethodGet, "https://api.telegram.org/bot12345:ABCDEFGHIJKLMNOP/send", nil)
	require.NoError(t, err)
	r.Header.Set("X-Api-Key", token)
	_, err = c.Player().RoundTrip(r)
	require.ErrorContains(t, err, token, "what the agent gets is as it came")
	assert.EqualError(t, c.Close(), "cassette: the answer to GET api.telegram.org/bot12345:[redacted] is not on the tape: "+
		`bad key "[redacted]"\x1b[2J of [redacted]`)
}

// A borrowed answer is kept with the request of the borrower, whose credential is another one.
func TestNoFileHasTheSecretOfABorrower(t *testing.T) {
	const other, token = "Xk3hd82JqLs9", "Zt7yQ0pLm3VbX9KdW2sR"
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Ignore: []string{"$.meta"},
		Base: func() http.RoundTripper { return &numbered{} }})
	for _, asks := range []struct{ cell, key, meta string }{{"a", other, "none"}, {"b", token, token}} {
		in(t, asks.cell, "", func(ctx context.Context) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/chat", strings.NewReader(`{"q":1,"meta":"`+asks.meta+`"}`))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+asks.key)
			_, err = do(c.Player(), r)
			require.NoError(t, err)
		})
	}
	var found *cassette.SecretError
	require.ErrorAs(t, c.Close(), &found)
	assert.Equal(t, "b/1", found.Cell)
	assert.NoFileExists(t, path)
}
