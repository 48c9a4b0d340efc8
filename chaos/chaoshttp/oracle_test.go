package chaoshttp_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
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

// moreFaults are faults besides those of onHTTP: other parameters, and those
// that can do nothing to an HTTP call.
func moreFaults() map[string]chaos.Fault {
	return map[string]chaos.Fault{
		"Refuse": chaoshttp.RefuseCompletion("no"), "Filter": chaoshttp.FilterCompletion(4), "EmptyCompletion": chaoshttp.EmptyCompletion(),
		"DriftFormat": chaoshttp.DriftCompletion(chaoshttp.DriftFormat), "Truncated": chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilTruncate),
		"StripToolCalls": chaoshttp.StripToolCalls(), "WrongArgument": chaoshttp.WrongArgument(""), "ErrorInOK": chaoshttp.ErrorInOK("", ""),
		"Cut nothing": chaoshttp.CutBody(0), "Cut far": chaoshttp.CutBody(10_000), "Short of all": chaoshttp.ShortBody(0), "Short, far": chaoshttp.ShortBody(10_000),
		"Repeat": fault.Repeat(3), "MemoryBudget": fault.MemoryBudget(1<<30, 0),
		"Frozen": lies.Frozen(), "Replayed": lies.Replayed(), "Null": lies.Null(), "Malformed": lies.Malformed(), "Contradict": lies.Contradict(),
		"Mojibake": lies.Mojibake(), "CutText": lies.CutText(0.5), "SchemaDrift": lies.SchemaDrift(), "Instruct": lies.Inject(lies.Attack{}),
		"Arguments": lies.Arguments(lies.FlipSign()), "Corrupt": fault.CorruptHandoff(json.RawMessage(`{"url":null}`)), "Misroute": fault.Misroute("method", "DELETE"),
		"StaleApproval": fault.StaleApproval(json.RawMessage(`true`)), "Mutate": fault.Mutate("m", func(any) any { return map[string]any{"z": 1} }),
	}
}

// form is a request and how it is answered.
type form struct {
	name, method, body string
	answer             http.HandlerFunc
}

// allForms are requests, and answers in all the forms that HTTP has for them.
func allForms() []form {
	chat, stream := wires()["chat"], wires()["chat stream"]
	words := said{text: "Order 7 was shipped to Zoë, -4 left.", reason: "stop"}
	doc, ev := chat.write(words, []int{5}), stream.write(words, []int{5})
	write := func(ct string, code int, cl, flush bool, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if ct != "" {
				w.Header().Set("Content-Type", ct)
			}
			if cl {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			}
			w.WriteHeader(code)
			if flush {
				w.(http.Flusher).Flush()
			}
			for body := body; len(body) > 0; {
				n := min(37, len(body))
				_, _ = io.WriteString(w, body[:n])
				body = body[n:]
				if flush {
					w.(http.Flusher).Flush()
				}
			}
		}
	}
	j := "application/json"
	var long = `{"id":7,"a":"` + strings.Repeat("xy z", 5000) + `","n":-5}`
	return []form{
		{"chat", "POST", `{"model":"m"}`, write(j, 200, true, false, doc)},
		{"chat chunked", "POST", `{"model":"m"}`, write(j, 201, false, true, doc)},
		{"stream", "POST", `{"model":"m"}`, write("text/event-stream", 200, false, true, ev)},
		{"lines", "POST", `{"model":"m"}`, write("application/x-ndjson", 200, false, true, wires()["ollama stream"].write(call(), []int{5}))},
		{"ollama", "POST", `{"model":"m"}`, write(j, 200, true, false, wires()["ollama"].write(call(), nil))},
		{"gemini", "POST", `{}`, write(j, 200, true, false, wires()["gemini"].write(call(), nil))},
		{"gemini stream", "POST", `{}`, write("text/event-stream", 200, false, true, wires()["gemini stream"].write(call(), []int{5}))},
		{"stream of known length", "POST", `{"model":"m"}`, write("text/event-stream", 200, true, false, ev)},
		{"long", "GET", "", write(j, 200, true, false, long)},
		{"long chunked", "PUT", "{}", write(j, 200, false, true, long)},
		{"text chunked ascii", "GET", "", write("text/plain", 200, false, true, strings.Repeat("hello ", 30))},
		{"text ascii", "GET", "", write("text/plain", 200, true, false, strings.Repeat("hello ", 30))},
		{"html zoe chunked", "GET", "", write("text/html", 200, false, true, strings.Repeat("Zoë ", 30))},
		{"empty cl0", "GET", "", write(j, 200, true, false, "")},
		{"empty chunked", "GET", "", write(j, 200, false, true, "")},
		{"204", "DELETE", "", write("", 204, false, false, "")},
		{"304", "GET", "", write("", 304, false, false, "")},
		{"head", "HEAD", "", write(j, 200, true, false, doc)},
		{"404", "GET", "", write(j, 404, true, false, `{"error":{"message":"x"}}`)},
		{"500 chunked", "POST", "{}", write(j, 500, false, true, `{"error":{"message":"x"}}`)},
		{"{}", "POST", "{}", write(j, 200, true, false, "{}")},
		{"true", "POST", "{}", write(j, 200, true, false, "true")},
		{"no type", "POST", "x", write("", 200, true, false, `{"id":5}`)},
		{"302", "GET", "", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", "/x"); w.WriteHeader(302) }},
		{"gzip", "GET", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", j)
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, doc)
				_ = z.Close()
				return
			}
			_, _ = io.WriteString(w, doc)
		}},
		{"abort", "GET", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", j)
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"id":5,`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"abort chunked", "GET", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", j)
			_, _ = io.WriteString(w, `{"id":5}`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"ndjson", "GET", "", write("application/x-ndjson", 200, false, true, "{\"n\":1}\n{\"n\":-2}\n")},
		{"trailers", "GET", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-T")
			w.Header().Set("Content-Type", j)
			_, _ = io.WriteString(w, `{"id":5}`)
			w.(http.Flusher).Flush()
			w.Header().Set("X-T", "v")
		}},
	}
}

// both is what either side of an exchange saw.
type both struct {
	err, cut, header, body, trailer string
	status                          int
	length                          int64
	arrived                         []string // at the server
}

// bodies is a transport that counts how often the bodies of its answers are closed.
type bodies struct {
	http.RoundTripper
	mu     sync.Mutex
	closed []int
}

type countedBody struct {
	io.ReadCloser
	of *bodies
	i  int
}

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && resp.Body != http.NoBody {
		b.mu.Lock()
		resp.Body = &countedBody{resp.Body, b, len(b.closed)}
		b.closed = append(b.closed, 0)
		b.mu.Unlock()
	}
	return resp, err
}

func (c *countedBody) Close() error {
	c.of.mu.Lock()
	c.of.closed[c.i]++
	c.of.mu.Unlock()
	return c.ReadCloser.Close()
}

// exchangedAs is one exchange, of whose answer so many bytes are read, -1: all.
// in is nil where there is no injection point.
func exchangedAs(t *testing.T, in *chaos.Injector, f form, read int, stream, behindAPoint bool) (s both, answers *bodies) {
	var mu sync.Mutex
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		s.arrived = append(s.arrived, fmt.Sprint(r.Method, " ", r.URL, " ", string(body), " ", err))
		mu.Unlock()
		f.answer(w, r)
	})
	o := &chaoshttp.Options{Injector: in}
	if behindAPoint && in != nil {
		h = chaoshttp.Handler(h, o)
	}
	server := chaoshttp.InProcess(h)
	answers = &bodies{RoundTripper: server}
	var point http.RoundTripper = answers
	if !behindAPoint && in != nil {
		point = chaoshttp.NewTransport(answers, o)
	}
	var body io.Reader
	if f.body != "" {
		if body = strings.NewReader(f.body); stream {
			body = io.MultiReader(body) // that cannot be had again
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	req := request(t, ctx, f.method, "http://example.com/v1/chat/completions", body)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := point.RoundTrip(req)
	if err != nil {
		s.err = "failed" // in its own words
	} else {
		resp.Header.Del("Date")
		s.header, s.status, s.length = fmt.Sprint(resp.Header), resp.StatusCode, resp.ContentLength
		var doc []byte
		if read < 0 {
			doc, err = io.ReadAll(resp.Body)
			s.trailer = fmt.Sprint(resp.Trailer)
		} else {
			doc = make([]byte, read)
			n, cut := io.ReadFull(resp.Body, doc)
			doc, err = doc[:n], cut
		}
		if s.body = string(doc); err != nil {
			s.cut = err.Error()
		}
		require.NoError(t, resp.Body.Close())
	}
	require.NoError(t, server.Close())
	return s, answers
}

// Up to four faults on one call, whichever they are, on either side, however
// the answer comes and however much of it is read. What the server got and what
// the client read decide whether something was delivered: the event and the limits
// agree with them.
func TestAnyFaultsOnAnyExchange(t *testing.T) {
	faults := onHTTP()
	maps.Copy(faults, moreFaults())
	names, forms := slices.Sorted(maps.Keys(faults)), allForms()
	const cases = 4000
	for i := range cases {
		synctest.Test(t, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(7, uint64(i)))
			f, read := forms[draw.IntN(len(forms))], []int{-1, -1, 0, 1, 9, 40, 250}[draw.IntN(7)]
			stream, behindAPoint := draw.IntN(2) == 0, draw.IntN(2) == 0
			what := fmt.Sprintf("case %d: %s, %d bytes read, stream %v, server %v:", i, f.name, read, stream, behindAPoint)
			var rules []chaos.Rule
			for j := range 1 + draw.IntN(4) {
				name := names[draw.IntN(len(names))]
				what += " " + name
				rules = append(rules, chaos.Rule{Name: strconv.Itoa(j), Target: "*", Fault: faults[name], Limit: 1})
			}
			p, err := chaos.NewPlan(uint64(i), rules...)
			require.NoError(t, err)
			in := p.Injector("cell", &chaos.InjectorOptions{RecordAll: draw.IntN(2) == 0, KeepValues: draw.IntN(2) == 0})

			calm, _ := exchangedAs(t, nil, f, read, stream, behindAPoint)
			began := time.Now()
			got, answers := exchangedAs(t, in, f, read, stream, behindAPoint)
			took := time.Since(began)
			require.Len(t, in.Events(), 1, what)
			e := in.Events()[0]
			for _, n := range answers.closed {
				require.Equal(t, 1, n, "%s: how often an answer of the server's was closed", what)
			}
			same := assert.ObjectsAreEqual(calm, got)
			if !e.Delivered && (f.name == "stream of known length" || f.name == "lines") { // the one header that an undelivered fault may change
				same = calm.body == got.body && calm.status == got.status && assert.ObjectsAreEqual(calm.arrived, got.arrived)
			}
			if !e.Delivered {
				require.True(t, same, "%s: undelivered, and\n%+v\nis not\n%+v\n%+v", what, got, calm, e)
			} else if len(rules) == 1 && !behindAPoint && took == 0 {
				require.False(t, same, "%s: delivered, and nothing differs: %+v", what, e)
			}
			require.Len(t, rulesOf(e), len(rules), what)
			for _, r := range rules {
				seen := e.Delivered && (e.Rule == r.Name || slices.Contains(e.Also, r.Name))
				require.NotEqual(t, seen, slices.Contains(in.Undelivered(), r.Name), "%s: rule %s: %+v", what, r.Name, e)
			}
		})
	}
}
