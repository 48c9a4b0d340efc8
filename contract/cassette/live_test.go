package cassette_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/contract/cassette"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.setRequestCancel.func4")) // of TestBodiesMustBeClosed
}

// places are where a recording or a replay may happen.
func places(t *testing.T) map[string]func(f func()) {
	return map[string]func(f func()){
		"in real time": func(f func()) { f() },
		"in a bubble":  func(f func()) { synctest.Test(t, func(*testing.T) { f() }) },
	}
}

// stream answers with events, and with plain JSON if it is not asked for a stream. Each answer is another one.
func stream() http.Handler {
	var answers atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := answers.Add(1)
		w.Header().Set("X-Request-Id", fmt.Sprint("r-", n))
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%d}`, n)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: {\"id\":%d,\"part\":%d}\n\n", n, i)
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})
}

// Recorded in real time or in a bubble, plain or streamed, and played in either: the same answers, with no network.
func TestRecordedThenPlayed(t *testing.T) {
	bodies := []string{`{"q":1}`, `{"q":1,"stream":true}`, `{"q":2,"stream":true}`, `{"q":1}`}
	ask := func(p *cassette.Player) (answers []string) {
		client := &http.Client{Transport: p, Timeout: time.Minute}
		for _, body := range bodies {
			resp, err := client.Post(api+"/chat", "application/json", strings.NewReader(body))
			if !assert.NoError(t, err) {
				return nil
			}
			all, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
			answers = append(answers, fmt.Sprint(resp.Status, " ", resp.Header["Content-Type"], resp.Header["X-Request-Id"], string(all)))
		}
		return answers
	}
	for where, record := range places(t) {
		t.Run("recorded "+where, func(t *testing.T) {
			var live []string
			path := recorded(t, stream(), func(p *cassette.Player) {
				record(func() { live = ask(p) })
				assert.Equal(t, 3, p.Live(), "the last request was a repetition")
			})
			for where, play := range places(t) {
				t.Run("played "+where, func(t *testing.T) {
					c := open(t, path, &cassette.Options{Mode: cassette.Replay})
					p := c.Player()
					var played []string
					play(func() { played = ask(p) })
					assert.Equal(t, live, played)
					assert.Zero(t, p.Live())
					assert.Empty(t, c.Unused())
				})
			}
		})
	}
}

// While recording, each piece of a stream is handed on as it comes: the server waits for the client to have read it.
func TestStreamsAreHandedOnWhileTheyAreRecorded(t *testing.T) {
	for where, in := range places(t) {
		t.Run(where, func(t *testing.T) {
			read := make(chan string)
			path := tapePath(t)
			c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 3 {
					event := fmt.Sprintf("data: %d", i)
					io.WriteString(w, event+"\n\n")
					w.(http.Flusher).Flush()
					if got := <-read; got != event {
						t.Errorf("the client read %q", got)
					}
				}
			}))})
			in(func() {
				resp, err := (&http.Client{Transport: c.Player()}).Post(api+"/chat", "", strings.NewReader(`{}`))
				require.NoError(t, err)
				lines := bufio.NewScanner(resp.Body)
				for lines.Scan() {
					if lines.Text() != "" {
						read <- lines.Text()
					}
				}
				assert.NoError(t, resp.Body.Close())
			})
			require.NoError(t, c.Close())
			p := open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
			resp, err := (&http.Client{Transport: p}).Post(api+"/chat", "", strings.NewReader(`{}`))
			require.NoError(t, err)
			buf := make([]byte, 1000)
			for i := range 3 {
				n, err := resp.Body.Read(buf)
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprintf("data: %d\n\n", i), string(buf[:n]), "played piece by piece")
			}
			assert.NoError(t, resp.Body.Close())
		})
	}
}

// failing answers the first requests with a status and then with "good".
func failing(status, times int) http.Handler {
	var requests atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= int64(times) {
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, "good")
	})
}

// The statuses of failures pass, unkept, and Close reports them: the retry is the first answer on the tape. Other
// statuses are answers as any other, since a test may want the 404 of an order that is not there.
func TestStatuses(t *testing.T) {
	for _, row := range []struct {
		keep     bool
		kept     bool
		statuses []int
	}{
		{false, false, []int{408, 409, 425, 429, 500, 503, 599}}, {true, true, []int{408, 503}}, {false, true, []int{404}},
	} {
		for _, status := range row.statuses {
			path, failed := tapePath(t), fmt.Sprint("status ", status)
			c := open(t, path, &cassette.Options{Mode: cassette.Record, KeepFailures: row.keep, Base: serve(t, failing(status, 1))})
			p := c.Player()
			_, err := post(p, "/chat", `{}`)
			assert.EqualError(t, err, failed)
			assert.Equal(t, "good", mustPost(t, p, "/chat", `{}`))
			assert.NoError(t, p.Err(), "a failure is no miss")
			err = c.Close()
			p = open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
			if row.kept {
				require.NoError(t, err)
				_, err = post(p, "/chat", `{}`)
				assert.EqualError(t, err, failed)
			} else {
				assert.ErrorContains(t, err, fmt.Sprintf("cassette: the answer to POST api.example/v1/chat is not on the tape: it has status %d", status))
				assert.NotContains(t, readFile(t, path), fmt.Sprint(status))
			}
			assert.Equal(t, "good", mustPost(t, p, "/chat", `{}`))
		}
	}
}

type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	if r.err == nil {
		panic("no transport")
	}
	return nil, r.err
}

func TestFailedConnectionsPassUnkept(t *testing.T) {
	down := errors.New("connection refused")
	for _, row := range []struct {
		why  string
		base func() http.RoundTripper
		want string
	}{
		{"an error", func() http.RoundTripper { return refusing{down} }, "connection refused"},
		{"a transport that panics", func() http.RoundTripper { return refusing{} }, "panicked: no transport"},
		{"a Base that panics", noNetwork, "panicked: a live call"},
		{"no transport", func() http.RoundTripper { return nil }, "Base returned nil"},
	} {
		for where, in := range places(t) {
			t.Run(row.why+" "+where, func(t *testing.T) {
				path := tapePath(t)
				c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: row.base})
				in(func() {
					for range 2 {
						_, err := post(c.Player(), "/chat", `{}`)
						assert.ErrorContains(t, err, row.want)
						assert.True(t, row.want != down.Error() || errors.Is(err, down))
					}
				})
				err := c.Close()
				assert.ErrorContains(t, err, "not on the tape: "+"")
				assert.ErrorContains(t, err, row.want)
				assert.NoFileExists(t, path)
			})
		}
	}
}

// A body that the client did not read to its end is not kept; one of which it read all but the end of the stream is.
func TestBodiesThatAreNotReadToTheEnd(t *testing.T) {
	for where, in := range places(t) {
		t.Run(where, func(t *testing.T) {
			ended := make(chan struct{})
			path := tapePath(t)
			c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				io.WriteString(w, "data: [DONE]\n\n")
				w.(http.Flusher).Flush()
				if strings.Contains(string(body), "long") {
					<-r.Context().Done()
					close(ended)
				}
			}))})
			in(func() {
				client := &http.Client{Transport: c.Player()}
				for _, body := range []string{`"unread"`, `"long"`, `"last event"`} {
					resp, err := client.Post(api+"/chat", "", strings.NewReader(body))
					require.NoError(t, err)
					if body != `"unread"` {
						_, err = io.ReadFull(resp.Body, make([]byte, len("data: [DONE]\n\n")))
						assert.NoError(t, err)
					}
					assert.NoError(t, resp.Body.Close())
				}
			})
			waitFor(t, func() bool { return c.Recorded() == 1 })
			err := c.Close()
			<-ended // the long one
			assert.ErrorContains(t, err, "its body was not read to the end")
			assert.ErrorContains(t, err, "Close came before its end")
			text := readFile(t, path)
			assert.Contains(t, text, "last event")
			assert.NotContains(t, text, "unread")
			assert.NotContains(t, text, "long")
		})
	}
}

// A client that gives up ends the live call.
func TestAClientThatGivesUp(t *testing.T) {
	for where, in := range places(t) {
		t.Run(where, func(t *testing.T) {
			arrived, ended := make(chan struct{}), make(chan struct{})
			c := open(t, tapePath(t), &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				close(arrived)
				<-r.Context().Done()
				close(ended)
			}))})
			in(func() {
				ctx, cancel := context.WithCancel(context.Background()) // the test's belongs to no bubble
				go func() {
					<-arrived
					cancel()
				}()
				_, err := postIn(ctx, c.Player(), `{}`)
				assert.ErrorIs(t, err, context.Canceled)
			})
			<-ended
			assert.ErrorContains(t, c.Close(), "not read to the end")
		})
	}
}

func TestCloseEndsLiveCalls(t *testing.T) {
	arrived := make(chan struct{})
	c := open(t, tapePath(t), &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(arrived)
		<-r.Context().Done()
	}))})
	ended := make(chan error)
	go func() {
		_, err := post(c.Player(), "/chat", `{}`)
		ended <- err
	}()
	<-arrived
	assert.ErrorContains(t, c.Close(), "Close came before its end")
	assert.Error(t, <-ended)
}

// A redirect would lead nowhere when it is played, and an encoded body to nothing readable.
func TestAnswersThatATapeCannotGiveBack(t *testing.T) {
	for _, header := range []string{"Location", "Content-Encoding"} {
		c := open(t, tapePath(t), &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, "br")
			if header == "Location" && r.URL.Path != "/v1/br" {
				w.WriteHeader(http.StatusFound)
			}
		}))})
		mustPost(t, c.Player(), "/chat", `{}`)
		assert.ErrorContains(t, c.Close(), "a tape does not keep the header "+header)
	}
}

// With auto an equal request is a repetition; with record, and with Once, each gets an answer of its own.
func TestAClientThatPolls(t *testing.T) {
	for _, row := range []struct {
		o    cassette.Options
		want []string
	}{
		{cassette.Options{Mode: cassette.Auto}, []string{"answer 1", "answer 1", "answer 1"}},
		{cassette.Options{Mode: cassette.Auto, Once: true}, []string{"answer 1", "answer 2", "answer 3"}},
		{cassette.Options{Mode: cassette.Record}, []string{"answer 1", "answer 2", "answer 3"}},
	} {
		path := tapePath(t)
		row.o.Base = func() http.RoundTripper { return &numbered{} }
		for _, mode := range []cassette.Mode{row.o.Mode, cassette.Replay} {
			o := row.o
			o.Mode, o.Once = mode, o.Once && mode != cassette.Replay
			c := open(t, path, &o)
			p := c.Player()
			for _, want := range row.want {
				assert.Equal(t, want, mustPost(t, p, "/jobs/1", `{}`), "%s, once %t", mode, row.o.Once)
			}
			require.NoError(t, c.Close())
		}
	}
}

// A body that no file has room for passes, and the others are kept.
func TestBodiesThatAreTooLarge(t *testing.T) {
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, strings.Repeat("x", map[string]int{"answer": 41, "fits": 40}[string(body)]))
	}))})
	c.SetMost(40)
	p := c.Player()
	assert.Len(t, mustPost(t, p, "/chat", "answer"), 41)
	assert.Len(t, mustPost(t, p, "/chat", "fits"), 40)
	assert.Empty(t, mustPost(t, p, "/request", strings.Repeat("y", 41)))
	assert.EqualError(t, c.Close(), "cassette: the answer to POST api.example/v1/chat is not on the tape: its body has more than 40 bytes\n"+
		"cassette: the answer to POST api.example/v1/request is not on the tape: its body has more than 40 bytes")
	p = open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
	assert.Len(t, mustPost(t, p, "/chat", "fits"), 40)
	_, err := post(p, "/chat", "answer")
	assert.Error(t, err)
}

// Whatever encoding the client asks for: what is recorded is readable, so that it can be searched for secrets.
func TestCompressedAnswersAreKeptPlain(t *testing.T) {
	get := func(p http.RoundTripper) string {
		r, err := http.NewRequest(http.MethodGet, api+"/orders", nil)
		require.NoError(t, err)
		r.Header.Set("Accept-Encoding", "gzip, br")
		answer, err := do(p, r)
		require.NoError(t, err)
		return answer
	}
	path := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "gzip", r.Header.Get("Accept-Encoding"), "the transport's own, which it decodes")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, err := io.WriteString(z, "plain text")
		assert.NoError(t, errors.Join(err, z.Close()))
	}), func(p *cassette.Player) { assert.Equal(t, "plain text", get(p)) })
	assert.Contains(t, readFile(t, path), "plain text")
	assert.Equal(t, "plain text", get(open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()))
}

func TestRedact(t *testing.T) {
	redact := func(target string, doc []byte) []byte {
		assert.Equal(t, "POST api.example/v1/chat", target)
		assert.NotContains(t, string(doc), "data:", "of a stream: the data of its events")
		return []byte(strings.ReplaceAll(string(doc), "Ada", "NAME"))
	}
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Redact: redact, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n: Bob\ndata: [DONE]\n\n", body)
			return
		}
		fmt.Fprintf(w, "%s\n", body)
	}))})
	ask := func(p http.RoundTripper, name string) string {
		return mustPost(t, p, "/chat", `{"name":"`+name+`"}`) + mustPost(t, p, "/chat", `{"stream":"`+name+`"}`)
	}
	assert.Contains(t, ask(c.Player(), "Ada"), "Ada", "live answers are as they came")
	require.NoError(t, c.Close())
	assert.NotContains(t, readFile(t, path), "Ada")
	p := open(t, path, &cassette.Options{Mode: cassette.Replay, Redact: redact}).Player()
	assert.Equal(t, "{\"name\":\"NAME\"}\ndata: {\"stream\":\"NAME\"}\n\n: Bob\ndata: [DONE]\n\n", ask(p, "Ada"))
}

// A Redact that panics is no failure of the agent: the cell is inconclusive, or the answer is not kept.
func TestRedactThatPanics(t *testing.T) {
	redact := func(_ string, doc []byte) []byte {
		if strings.Contains(string(doc), "Ada") {
			panic("no name")
		}
		return doc
	}
	path := tapePath(t)
	c := open(t, path, &cassette.Options{Mode: cassette.Auto, Redact: redact, Base: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, strings.ReplaceAll(string(body), "who", "Ada"))
	}))})
	p := c.Player()
	assert.Equal(t, "Ada?", mustPost(t, p, "/chat", "who?"))
	assert.Equal(t, "Bob", mustPost(t, p, "/chat", "Bob"))
	assert.NoError(t, p.Err())
	for range 2 {
		_, err := post(p, "/chat", "Ada")
		assert.ErrorContains(t, err, "cassette: Redact panicked: no name")
	}
	assert.EqualError(t, p.Err(), "cassette: Redact panicked: no name")
	assert.EqualError(t, c.Close(), "cassette: the answer to POST api.example/v1/chat is not on the tape: cassette: Redact panicked: no name")
	assert.NotContains(t, readFile(t, path), "Ada")
	assert.Contains(t, readFile(t, path), "Bob")
}

// Pauses are waited out if that is asked for, in the time of the bubble.
func TestPauses(t *testing.T) {
	path := tapeOf(t, `{"request":{"method":"GET","url":"`+api+`/s"},"response":{"status":200,"header":{"Content-Type":"text/event-stream"},`+
		`"after":"840ms","events":[{"data":{}},{"after":"40ms","data":{}},{"after":"2s","text":"[DONE]"}]}}`)
	for _, row := range []struct {
		pauses bool
		want   time.Duration
	}{{true, 2880 * time.Millisecond}, {false, 0}} {
		c := open(t, path, &cassette.Options{Mode: cassette.Replay, Pauses: row.pauses})
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			r, err := http.NewRequest(http.MethodGet, api+"/s", nil)
			require.NoError(t, err)
			_, err = do(c.Player(), r)
			require.NoError(t, err)
			assert.Equal(t, row.want, time.Since(start))

			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err = do(c.Player(), r.WithContext(ctx))
			assert.Equal(t, row.pauses, errors.Is(err, context.DeadlineExceeded), "%v", err)
		})
	}
}

func TestPlayedBodies(t *testing.T) {
	path := tapeOf(t, exchange("", `{"q":1}`, "one"))
	p := open(t, path, &cassette.Options{Mode: cassette.Replay}).Player()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/chat", strings.NewReader(`{"q":1}`))
	require.NoError(t, err)
	resp, err := p.RoundTrip(r)
	require.NoError(t, err)
	assert.Equal(t, "200 OK", resp.Status)
	assert.EqualValues(t, 3, resp.ContentLength)
	cancel()
	_, err = resp.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, context.Canceled, "as a body from the network")
	require.NoError(t, resp.Body.Close())
	_, err = resp.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, http.ErrBodyReadAfterClose)
	_, err = p.RoundTrip(r.WithContext(ctx))
	assert.ErrorIs(t, err, context.Canceled)
}
