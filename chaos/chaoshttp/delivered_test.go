package chaoshttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

// A change of a body is delivered with the first byte that differs, not before:
// the caller who reads up to it and leaves saw what the callee sent.
func TestDeliveredWithTheFirstByteThatDiffers(t *testing.T) {
	const jsonKind, stream = "application/json", "text/event-stream"
	long := strings.Repeat("a", 10_000)
	chat := `{"id":"` + long + `","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello there"},"finish_reason":"stop"}]}`
	events := "data: {\"n\":0}\n\nevent: x\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: [DONE]\n\n"
	for _, tt := range []struct {
		name  string
		fault chaos.Fault
		kind  string
		body  string
	}{
		{"a lie", lies.FlipSign("$.z"), jsonKind, `{"a":"` + long + `","z":5}`},
		{"a lie on the body", onBody(lies.FlipSign("$.z")), jsonKind, `{"a":"` + long + `","z":5}`},
		{"a document that is cut", lies.Malformed(), jsonKind, `{"a":"` + long + `","z":5}`},
		{"garbled", chaoshttp.GarbleCompletion(), jsonKind, chat},
		{"cut off in the text", chaoshttp.CutCompletion(4), jsonKind, chat},
		{"empty", chaoshttp.EmptyCompletion(), jsonKind, chat},
		{"short", chaoshttp.ShortBody(7), jsonKind, `{"a":1234567}`},
		{"cut", chaoshttp.CutBody(7), jsonKind, `{"a":1234567}`},
		{"an event twice", chaoshttp.DuplicateEvent(0), stream, events},
		{"an event cut", chaoshttp.CutEvent(1), stream, events},
		{"a stream cut", chaoshttp.CutStream(2), stream, events},
		{"an event malformed", chaoshttp.MalformEvent(1), stream, events},
		{"events swapped", chaoshttp.SwapEvents(0), stream, events},
		{"no terminator", chaoshttp.DropTerminator(), stream, events},
		{"an error event", chaoshttp.ErrorEvent(chaoshttp.OpenAI, chaoshttp.KindServer, 1), stream, events},
	} {
		t.Run(tt.name, func(t *testing.T) {
			get := func(read int) (body []byte, e chaos.Event) {
				in := injectorOf(t, chaos.Rule{Fault: tt.fault})
				resp, err := inProcess(t, answering(tt.kind, tt.body, true)).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
				require.NoError(t, err)
				if read < 0 {
					body, _ = io.ReadAll(resp.Body)
				} else {
					body = make([]byte, read)
					_, err = io.ReadFull(resp.Body, body)
					require.NoError(t, err)
				}
				require.NoError(t, resp.Body.Close())
				return body, onlyEvent(t, in)
			}
			whole, e := get(-1)
			require.True(t, e.Delivered, "%+v", e)
			differs := 0
			for differs < len(whole) && differs < len(tt.body) && whole[differs] == tt.body[differs] {
				differs++
			}
			same, e := get(differs)
			assert.Equal(t, tt.body[:differs], string(same))
			assert.False(t, e.Delivered, "%d bytes, all as they were sent: %+v", differs, e)
			assert.Empty(t, e.Changes)
			if differs < len(whole) {
				_, e = get(differs + 1)
				assert.True(t, e.Delivered, "the byte at %d is another: %+v", differs, e)
			}
		})
	}
}

// A body in which a fault finds nothing to do keeps its header, however it says
// how long it is.
func TestABodyWithNothingToChangeKeepsItsHeader(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"OnBody": onBody(fault.Replace(1)), "FlipSign": lies.FlipSign(), "EmptyCompletion": chaoshttp.EmptyCompletion(),
	} {
		for _, tt := range []struct {
			kind     string
			size     int
			declared bool
		}{{"text/html", 0, true}, {"text/html", 0, false}, {"text/html", 100, false}, {"text/html", 100, true}, {"text/html", 5 << 20, true}, {"application/json", 5 << 20, true}, {"application/json", 0, true}} {
			in := injectorOf(t, chaos.Rule{Fault: f, Limit: 1})
			client, url := overSockets(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				if tt.declared {
					w.Header().Set("Content-Length", strconv.Itoa(tt.size))
				} else {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = w.Write(bytes.Repeat([]byte("a"), tt.size))
			})
			g := ask(chaos.NewContext(t.Context(), in), t, client, url, "{}")
			require.NoError(t, g.err, name)
			require.NoError(t, g.cut, name)
			assert.Len(t, g.body, tt.size)
			assert.Equal(t, tt.kind, g.resp.Header.Get("Content-Type"), "%s %+v", name, tt)
			length := int64(-1)
			if tt.declared {
				length = int64(tt.size)
			}
			assert.Equal(t, length, g.resp.ContentLength, "%s %+v", name, tt)
			assert.False(t, onlyEvent(t, in).Delivered, "%s %+v", name, tt)
			assert.Len(t, in.Undelivered(), 1)
		}
	}
}

// mailbox is a handler that keeps the bodies it was sent.
type mailbox struct {
	mu  sync.Mutex
	got []string
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	m.mu.Lock()
	if err == nil {
		m.got = append(m.got, string(body))
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"padding":"`+strings.Repeat("x", 1<<20)+`"}`) // more than the buffers of a connection hold
}

// A request that is sent again arrives with its body, on either side and
// however the body was given; late ones too.
func TestRequestsThatAreSentAgainArrive(t *testing.T) {
	bodies := map[string]func(s string) io.Reader{
		"that can be had again": func(s string) io.Reader { return strings.NewReader(s) },
		"of a stream":           func(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) },
	}
	for name, tt := range map[string]struct {
		fault chaos.Fault
		want  []string
	}{
		"Duplicate":    {fault.Duplicate(), []string{"1", "1", "2", "2", "3", "3"}},
		"DeliverTwice": {fault.DeliverTwice(), []string{"1", "1", "2", "2", "3", "3"}},
		"LateResult":   {fault.LateResult("POST *", 0, 0), []string{"1", "2", "3"}}, // each before the next; the last is read for
	} {
		for given, body := range bodies {
			for _, behindAPoint := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, a body %s, server %v", name, given, behindAPoint), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						in := injectorOf(t, chaos.Rule{Target: "POST *", Fault: tt.fault})
						box := &mailbox{}
						o := &chaoshttp.Options{Injector: in}
						var point http.RoundTripper
						var server *chaoshttp.Server
						if behindAPoint {
							server = chaoshttp.InProcess(chaoshttp.Handler(box, o))
							point = server
						} else {
							server = chaoshttp.InProcess(box)
							point = chaoshttp.NewTransport(server, o)
						}
						late := strings.HasPrefix(name, "Late")
						for i := 1; i <= 3 || late && i == 4; i++ {
							req := jsonRequest(t, t.Context(), http.MethodPost, "https://example.com/", body(fmt.Sprint(i)))
							resp, err := point.RoundTrip(req)
							if late {
								require.Error(t, err)
								continue
							}
							require.NoError(t, err)
							doc, err := io.ReadAll(resp.Body)
							require.NoError(t, err)
							assert.Greater(t, len(doc), 1<<20)
							require.NoError(t, resp.Body.Close())
						}
						require.NoError(t, server.Close(), "no handler is held up by an unread answer")
						assert.Equal(t, tt.want, box.got)
					})
				})
			}
		}
	}
}

// A body that is gone cannot be sent again: there was no repetition, and the
// event says why.
func TestARepetitionThatCannotBeSentIsNotDelivered(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: fault.Duplicate(), Limit: 1})
	box := &mailbox{}
	s := chaoshttp.InProcess(box)
	req := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, "https://example.com/", io.MultiReader(strings.NewReader("once")))
	resp, err := chaoshttp.NewTransport(s, nil).RoundTrip(req)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"once"}, box.got)
	assert.False(t, onlyEvent(t, in).Delivered)
	assert.Contains(t, onlyEvent(t, in).Note, "cannot be sent again")
	assert.Len(t, in.Undelivered(), 1)
}

// versions counts what was written, and returns the count to readers.
func versions() http.HandlerFunc {
	version := 0
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			version++
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"version":%d}`, version)
	}
}

// An answer that is given again is one like any other.
func TestAnswersGivenAgainCanBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		fault chaos.Fault
		want  []int // of a read, a write and two reads
		acted []bool
	}{
		"SilentNoOp":                   {fault.SilentNoOp(), []int{0, 1, 0, 0}, []bool{false, false, true, true}},
		"DelayedVisibility":            {fault.DelayedVisibility("POST *", time.Hour, nil), []int{0, 1, 0, 0}, []bool{false, false, true, true}},
		"DelayedVisibility of nothing": {fault.DelayedVisibility("POST *", time.Hour, json.RawMessage(`{"version":7}`)), []int{0, 1, 0, 0}, []bool{false, false, true, true}},
		"Stale":                        {lies.Stale(1), []int{0, 1, 0, 1}, []bool{false, false, true, false}},
		"Frozen":                       {lies.Frozen(), []int{0, 1, 0, 0}, []bool{false, false, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: tt.fault})
			client := inProcess(t, versions())
			for i, method := range []string{http.MethodGet, http.MethodPost, http.MethodGet, http.MethodGet} {
				req := request(t, chaos.NewContext(t.Context(), in), method, "https://example.com/x", nil)
				resp, err := client.Do(req)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				assert.Equal(t, fmt.Sprintf(`{"version":%d}`, tt.want[i]), string(body), "call %d", i)
				assert.EqualValues(t, len(body), resp.ContentLength)
				assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
				assert.Equal(t, tt.acted[i], in.Events()[i].Delivered, "call %d: %+v", i, in.Events()[i])
			}
		})
	}
}

// What was not read whole cannot be given again: the call goes through, and
// its event says why.
func TestAnAnswerThatWasNotReadIsNotGivenAgain(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: fault.SilentNoOp()})
	n := 0
	client := inProcess(t, func(w http.ResponseWriter, _ *http.Request) { n++; fmt.Fprintf(w, "answer %d", n) })
	for call, read := range []int64{3, 9, 9} {
		resp, err := client.Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
		require.NoError(t, err)
		_, _ = io.CopyN(io.Discard, resp.Body, read)
		require.NoError(t, resp.Body.Close())
		e := in.Events()[call]
		assert.Equal(t, call == 2, e.Delivered && n == 2, "%+v", e)
		if call == 1 {
			assert.Contains(t, e.Note, "not read to its end")
		}
	}
}

// A lie about a response is one about its body, never about how events show
// the response; one about a request is not applied.
func TestALieIsNotAboutTheEvent(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"FlipSign": lies.FlipSign(), "Stale": lies.Stale(1), "Null": lies.Null(), "HTMLPage": lies.HTMLPage(), "Contradict": lies.Contradict(),
		"Arguments": lies.Arguments(lies.FlipSign()), "ChangeArguments": lies.ChangeArguments("POST example.com/", "method", "verb"),
	} {
		in := injectorOf(t, chaos.Rule{Fault: f})
		n := 0
		client := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			assert.Equal(t, http.MethodPost, r.Method)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK + n)
			fmt.Fprintf(w, `{"n":%d}`, n)
		})
		for i := range 2 {
			g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "{}")
			require.NoError(t, g.err, name)
			require.NoError(t, g.cut, name)
			assert.NotContains(t, g.body, "statusCode", name)
			assert.Equal(t, 201+i, g.resp.StatusCode, name)
			assert.EqualValues(t, len(g.body), g.resp.ContentLength, name)
		}
		assert.Equal(t, 2, n, name)
	}
}

// The answers of one exchange are all closed with the one that the caller has,
// and that of a late request at once.
func TestAllAnswersAreClosed(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"Duplicate": fault.Duplicate(), "DeliverTwice": fault.DeliverTwice(), "LateResult": fault.LateResult("POST *", 0, 0), "LoseReply": fault.LoseReplyAfter(0),
		"Replace": fault.Replace(json.RawMessage(`{}`)), "HTMLPage": chaoshttp.HTMLPage(), "OnBody": onBody(fault.Replace(1)), "SilentNoOp": fault.SilentNoOp(),
	} {
		in := injectorOf(t, chaos.Rule{Fault: f})
		var bodies []*counted
		from := base(func(r *http.Request) (*http.Response, error) {
			bodies = append(bodies, &counted{Reader: strings.NewReader("{}")})
			return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, ContentLength: 2, Body: bodies[len(bodies)-1]}, nil
		})
		for range 3 {
			g := ask(chaos.NewContext(t.Context(), in), t, &http.Client{Transport: chaoshttp.NewTransport(from, nil)}, "https://example.com/", "{}")
			_ = g // an error or an answer that was closed
		}
		for i, b := range bodies {
			assert.True(t, b.closed, "%s: answer %d of %d", name, i+1, len(bodies))
		}
		assert.NotEmpty(t, bodies, name)
	}
}

// A connection that switched protocols can be written to, whatever it was sent
// with.
func TestAnUpgradeThatIsSentTwiceCanBeWrittenTo(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: fault.Duplicate()})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(conn, line)
	}))
	defer s.Close()
	req := request(t, chaos.NewContext(t.Context(), in), http.MethodGet, s.URL, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := chaoshttp.NewTransport(&http.Transport{}, nil).RoundTrip(req)
	require.NoError(t, err)
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok, "%T", resp.Body)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	got := make([]byte, 6)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(got))
	require.NoError(t, conn.Close())
	assert.True(t, onlyEvent(t, in).Delivered)
}

// Zero values are somebody's arguments too.
func TestZeroValuesHaveJSON(t *testing.T) {
	for _, v := range []any{chaoshttp.Request{}, chaoshttp.Request{Request: &http.Request{}}, chaoshttp.Response{}} {
		doc, err := json.Marshal(v)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(doc, []byte("null")) || bytes.Equal(doc, []byte(`{"method":"","url":""}`)), "%s", doc)
	}
}
