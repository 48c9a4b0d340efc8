package cassette_test

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

// A credential that a request carries anywhere, and that stands in the request's body or that the provider gives back
// anywhere, reaches no file.
func TestNoFileHasASecret(t *testing.T) {
	const secret = `Zt7/yQ+"0p<Lm 3Vé`
	carriers := map[string]func(r *http.Request){
		"header": func(r *http.Request) { r.Header.Set("X-Api-Key", base64.StdEncoding.EncodeToString([]byte(secret))) },
		"basic":  func(r *http.Request) { r.SetBasicAuth("ann", secret) },
		"user":   func(r *http.Request) { r.URL.User = url.UserPassword("ann", secret) },
		"query":  func(r *http.Request) { r.URL.RawQuery = "api_key=" + url.QueryEscape(secret) },
	}
	carried := func(r *http.Request) string { // as the provider knows it
		if _, password, ok := r.BasicAuth(); ok {
			return password
		}
		return r.Header.Get("X-Api-Key") + r.URL.Query().Get("api_key")
	}
	quote := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	answers := map[string]struct {
		refused bool // nothing is written
		answer  func(w http.ResponseWriter, key string)
	}{
		"not at all":                {false, func(w http.ResponseWriter, key string) { io.WriteString(w, "fine") }},
		"a header that is not kept": {false, func(w http.ResponseWriter, key string) { w.Header().Set("Set-Cookie", "k="+url.QueryEscape(key)) }},
		"a header that is kept":     {true, func(w http.ResponseWriter, key string) { w.Header().Set("X-Request-Id", url.QueryEscape(key)) }},
		"JSON":                      {true, func(w http.ResponseWriter, key string) { fmt.Fprintf(w, `{"said":%s}`, quote(key)) }},
		"error text": {true, func(w http.ResponseWriter, key string) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":%s}}`, quote("Incorrect API key provided: "+key))
		}},
		"an address": {true, func(w http.ResponseWriter, key string) { io.WriteString(w, "see /x?k="+url.QueryEscape(key)) }},
		"base64": {true, func(w http.ResponseWriter, key string) {
			io.WriteString(w, base64.URLEncoding.EncodeToString([]byte("a"+key)))
		}},
		"binary data": {true, func(w http.ResponseWriter, key string) { io.WriteString(w, "\xff\x00"+key) }},
		"compressed": {true, func(w http.ResponseWriter, key string) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, key)
			z.Close()
		}},
		"deltas of a stream": {true, func(w http.ResponseWriter, key string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, letter := range key {
				fmt.Fprintf(w, "data: {\"delta\":%s}\n\n", quote(string(letter)))
				w.(http.Flusher).Flush()
			}
		}},
	}
	for carrier, carry := range carriers {
		for place, a := range answers {
			for _, asked := range []string{`{"q":"hello"}`, ""} { // "": the secret
				say := fmt.Sprintf("%s, %s, %q", carrier, place, asked)
				path := filepath.Join(t.TempDir(), "a.json")
				c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(
					func(w http.ResponseWriter, r *http.Request) { a.answer(w, carried(r)) }))})
				r, err := http.NewRequest(http.MethodPost, api+"/chat", nil)
				require.NoError(t, err)
				carry(r)
				key := secret
				if carrier == "header" {
					key = r.Header.Get("X-Api-Key")
				}
				if asked == "" {
					asked = `{"q":` + quote(key) + `}`
				}
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(asked)), int64(len(asked))
				resp, err := (&http.Client{Transport: c.Player()}).Do(r)
				require.NoError(t, err, say)
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(t, err, say)
				require.NoError(t, resp.Body.Close())
				err = c.Close()
				if refused := a.refused || asked != `{"q":"hello"}`; refused {
					var found *cassette.SecretError
					require.ErrorAs(t, err, &found, say)
					assert.Equal(t, 1, found.Exchange, say)
				} else {
					require.NoError(t, err, say)
				}
				if err != nil {
					assert.NotContains(t, err.Error(), "0p<Lm", say)
				}
				entries, err := os.ReadDir(filepath.Dir(path))
				require.NoError(t, err)
				for _, e := range entries {
					text, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
					require.NoError(t, err)
					assert.NotContains(t, string(text), "Zt7", say)
					assert.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(secret))[:8], say)
				}
			}
		}
	}
}

// A well-known form of a key that a model writes in pieces, and that no request carried, is masked: the rest of the
// answer comes back as it was.
func TestAKeyInPiecesIsMasked(t *testing.T) {
	const text, masked = "Use it: ghp_0123456789abcdef0123, and go on.", "Use it: [redacted], and go on."
	for name, shape := range map[string]string{
		"OpenAI":    `data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}` + "\n\n",
		"Anthropic": "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}` + "\n\n",
	} {
		path := filepath.Join(t.TempDir(), "a.json")
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for at := 0; at < len(text); at += 5 {
				piece, _ := json.Marshal(text[at:min(at+5, len(text))])
				fmt.Fprintf(w, shape, piece)
				w.(http.Flusher).Flush()
			}
		}))
		said := func(mode cassette.Mode) (all string) {
			c := open(t, path, &cassette.Options{Mode: mode, Base: base})
			resp, err := (&http.Client{Transport: c.Player()}).Post(api+"/chat", "application/json", strings.NewReader(`{"q":"hello"}`))
			require.NoError(t, err, name)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err, name)
			require.NoError(t, resp.Body.Close())
			require.NoError(t, c.Close())
			for _, m := range regexp.MustCompile(`"(?:content|text)":"([^"]*)"`).FindAllStringSubmatch(string(body), -1) {
				all += m[1]
			}
			return all
		}
		assert.Equal(t, text, said(cassette.Auto), "%s: the live answer is the provider's", name)
		assert.Equal(t, masked, said(cassette.Replay), name)
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(file), "ghp_", name)
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
