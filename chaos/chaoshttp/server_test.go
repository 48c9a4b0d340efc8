package chaoshttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// What handlers do that a client can tell, and what a Server has in common
// with a real one.
var handlers = map[string]http.HandlerFunc{
	"nothing":            func(http.ResponseWriter, *http.Request) {},
	"text":               func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") },
	"status":             func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
	"second status":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) },
	"early hints":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(202) },
	"header after write": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x"); w.Header().Set("X-Late", "1") },
	"no content": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(204)
		_, err := fmt.Fprint(w, "x")
		if err == nil {
			panic("a body was accepted")
		}
	},
	"not modified": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) },
	"declared": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		fmt.Fprint(w, "abc")
	},
	"declared, too long": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		_, _ = w.Write([]byte("ab"))
		if _, err := w.Write([]byte("cde")); !errors.Is(err, http.ErrContentLength) {
			panic(err)
		}
		fmt.Fprint(w, "c")
	},
	"declared, too short": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		fmt.Fprint(w, "abc")
	},
	"large":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("0123456789", 10_000)) },
	"flushed": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); fmt.Fprint(w, "rest") },
	"JSON": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	},
	"two values": func(w http.ResponseWriter, _ *http.Request) { w.Header().Add("X-A", "1"); w.Header().Add("X-A", "2") },
	"abort":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"abort after a part": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "part")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	"what it got": func(w http.ResponseWriter, r *http.Request) {
		doc, err := io.ReadAll(r.Body)
		fmt.Fprintln(w, r.Method, r.RequestURI, r.URL, r.Proto, r.ContentLength, r.Header["X-A"], string(doc), err, r.TLS == nil, r.GetBody == nil, r.TransferEncoding)
	},
	"its host": func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host != "", r.URL.Host, r.RemoteAddr != "")
	},
}

func TestServeAnswersLikeARealServer(t *testing.T) {
	for name, h := range handlers {
		for _, method := range []string{http.MethodPost, http.MethodHead, http.MethodGet} {
			t.Run(name+" "+method, func(t *testing.T) {
				real := httptest.NewUnstartedServer(h)
				real.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of what some handlers do wrong
				real.Start()
				defer real.Close()
				served := chaoshttp.InProcess(h)
				base := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
				want := describe(t, base, method, real.URL)
				assert.Equal(t, want, describe(t, served, method, real.URL))
				assert.NoError(t, served.Close())
			})
		}
	}
}

// describe says all that a client can tell of an answer.
func describe(t *testing.T, rt http.RoundTripper, method, url string) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("order 7")
	}
	req, err := http.NewRequest(method, url+"/a%2Fb?q=1", body)
	require.NoError(t, err)
	req.Header["X-A"] = []string{"1", "2"}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		say("error: %v", err)
		return lines
	}
	defer resp.Body.Close()
	say("%s %s %d", resp.Proto, resp.Status, resp.ContentLength)
	say("%v", resp.TransferEncoding)
	resp.Header.Del("Date")
	resp.Header.Del("Connection") // the real client asked for it
	say("%v", resp.Header)
	doc, err := io.ReadAll(resp.Body)
	say("%s %v", doc, err)
	return lines
}

func TestAStreamIsReadWhileItsHandlerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for i := range 3 {
				fmt.Fprintf(w, "line %d\n", i)
				w.(http.Flusher).Flush()
				time.Sleep(time.Hour)
			}
		}))}
		start := time.Now()
		resp, err := client.Get("http://example.com/")
		require.NoError(t, err)
		assert.Zero(t, time.Since(start), "the header came with the first flush")
		assert.EqualValues(t, -1, resp.ContentLength)
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			require.True(t, lines.Scan())
			assert.Equal(t, fmt.Sprintf("line %d", i), lines.Text())
			assert.Equal(t, time.Duration(i)*time.Hour, time.Since(start))
		}
		assert.False(t, lines.Scan())
		assert.Equal(t, 3*time.Hour, time.Since(start))
		resp.Body.Close()
	})
}

// However a client goes away, its handler learns of it and ends.
func TestAHandlerLearnsThatItsClientIsGone(t *testing.T) {
	for name, leave := range map[string]func(resp *http.Response, cancel context.CancelFunc) error{
		"closes the body": func(resp *http.Response, _ context.CancelFunc) error { return resp.Body.Close() },
		"cancels": func(resp *http.Response, cancel context.CancelFunc) error {
			cancel()
			_, err := io.ReadAll(resp.Body)
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("reading: %w", err)
			}
			return resp.Body.Close()
		},
	} {
		for what, blocked := range map[string]func(http.ResponseWriter, *http.Request){
			"waiting": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"writing": func(w http.ResponseWriter, _ *http.Request) {
				for {
					if _, err := w.Write(make([]byte, 4096)); err != nil {
						return
					}
				}
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ended := false
					s := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.(http.Flusher).Flush()
						blocked(w, r)
						ended = true
					}))
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					req := request(t, ctx, http.MethodGet, "http://example.com/", nil)
					resp, err := (&http.Client{Transport: s}).Do(req)
					require.NoError(t, err)
					synctest.Wait()
					assert.False(t, ended)
					require.NoError(t, leave(resp, cancel))
					require.NoError(t, s.Close())
					assert.True(t, ended)
				})
			})
		}
	}
}

// A handler learns how much was taken of a write that the client's end cut short.
func TestAWriteIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		s := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			n, err := w.Write(make([]byte, 100<<10))
			assert.Error(t, err)
			taken = n
		}))
		resp, err := (&http.Client{Transport: s}).Get("http://example.com/")
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, resp.Body.Close())
		require.NoError(t, s.Close())
		assert.Equal(t, 64<<10, taken)
	})
}

func TestAClientDoesNotWaitForAHandlerThatIgnoresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := chaoshttp.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(24 * time.Hour) }))
		client := &http.Client{Transport: s, Timeout: time.Hour}
		start := time.Now()
		_, err := client.Get("http://example.com/")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(start))
		require.NoError(t, s.Close())
		assert.Equal(t, 24*time.Hour, time.Since(start), "Close waits for the handler")
		_, err = client.Get("http://example.com/")
		assert.ErrorContains(t, err, "Server closed")
	})
}

func TestTheEndsOfHandlers(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func()
		said string // by Close
	}{
		{"a panic is reported", func() { panic("boom") }, "chaoshttp: the handler panicked: boom\n"},
		{"an abort is not", func() { panic(http.ErrAbortHandler) }, ""},
		{"a goroutine that ends is an abort", runtime.Goexit, ""},
	} {
		for _, late := range []bool{false, true} {
			s := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if late {
					fmt.Fprint(w, "part")
					w.(http.Flusher).Flush()
				}
				tt.end()
			}))
			resp, err := (&http.Client{Transport: s}).Get("http://example.com/")
			if late {
				require.NoError(t, err)
				doc, err := io.ReadAll(resp.Body)
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF, tt.name)
				assert.Equal(t, "part", string(doc))
				resp.Body.Close()
			} else {
				assert.ErrorIs(t, err, io.EOF, tt.name)
			}
			err = s.Close()
			if tt.said == "" {
				assert.NoError(t, err, tt.name)
			} else {
				assert.ErrorContains(t, err, tt.said)
			}
		}
	}
}

// A server that was made once serves the cells of a matrix, each in a bubble of its own.
func TestAServerServesManyBubbles(t *testing.T) {
	server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Hour)
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	t.Run("bubbles", func(t *testing.T) {
		for i := range 16 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					path := fmt.Sprintf("/%d", i)
					resp, err := (&http.Client{Transport: server}).Get("http://shop.test" + path)
					require.NoError(t, err)
					body, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					assert.Equal(t, path, string(body))
					assert.Equal(t, time.Hour, time.Since(began))
					require.NoError(t, resp.Body.Close())
				})
			})
		}
	})
	require.NoError(t, server.Close())
}
