package chaoshttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

const (
	ownKey   = "desk.9f8e7d6c5b4a3928" // no pattern knows it: it is in the header of the request
	apiKey   = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2"
	password = "c0rrect-horse-b4ttery"
)

// talkAPI is a form in which a model is asked.
type talkAPI struct {
	name, path string
	body       func(stream bool, said string) any
}

func talkAPIs() []talkAPI {
	type obj = map[string]any
	user := func(said string) []obj { return []obj{{"role": "user", "content": said}} }
	return []talkAPI{
		{"openai", "/v1/chat/completions", func(stream bool, said string) any {
			return obj{"model": "m", "stream": stream, "messages": user(said)}
		}},
		{"responses", "/v1/responses", func(stream bool, said string) any { return obj{"model": "m", "stream": stream, "input": said} }},
		{"anthropic", "/v1/messages", func(stream bool, said string) any {
			return obj{"model": "m", "stream": stream, "max_tokens": 99, "messages": user(said)}
		}},
		{"ollama", "/api/chat", func(stream bool, said string) any { return obj{"model": "m", "stream": stream, "messages": user(said)} }},
	}
}

// tell sends a request to the point, reads so many bytes of the answer (negative: all)
// and closes it.
func tell(ctx context.Context, t testing.TB, base http.RoundTripper, path string, body any, most int64) {
	t.Helper()
	doc, err := json.Marshal(body)
	require.NoError(t, err)
	req := jsonRequest(t, ctx, http.MethodPost, "https://model.example"+path+"?key=query-"+ownKey, bytes.NewReader(doc))
	req.Header.Set("Authorization", "Bearer "+ownKey)
	resp, err := chaoshttp.NewTransport(base, nil).RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	if most < 0 {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		_, err = io.CopyN(io.Discard, resp.Body, most)
	}
	require.NoError(t, err)
}

// What is said is kept in every form, streamed or not, without the secrets of header,
// query and bodies.
func TestTalk(t *testing.T) {
	for _, api := range talkAPIs() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", api.name, stream), func(t *testing.T) {
				model := modeltest.New(t, modeltest.Script(modeltest.Answer{
					Text: "The parcel left. Your keys are " + ownKey + " and " + apiKey + ", that is all."}))
				in := injectorOf(t)
				asked := "Where is order 1042? " + `{"password":"` + password + `"} and ` + apiKey
				tell(chaos.NewContext(t.Context(), in), t, model, api.path, api.body(stream, asked), -1)

				e := onlyEvent(t, in)
				require.NotNil(t, e.Exchange)
				assert.Contains(t, e.Exchange.Request, "Where is order 1042?")
				assert.False(t, e.Exchange.RequestTruncated)
				assert.Contains(t, e.Exchange.Response, "parcel")
				assert.Contains(t, e.Exchange.Response, "all.")
				assert.False(t, e.Exchange.ResponseTruncated)
				all, err := json.Marshal(e)
				require.NoError(t, err)
				noSecret(t, string(all))
				assert.NotContains(t, string(e.Args)+string(e.Result), "1042", "nothing that is judged has a body")
			})
		}
	}
}

// noSecret finds secrets, and parts of them.
func noSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{ownKey, apiKey, password} {
		for from := 0; from+8 <= len(secret); from++ {
			assert.NotContains(t, text, secret[from:from+8], "a part of %s", secret)
		}
	}
}

// A model writes a secret in pieces, none of which looks like one.
func TestTalkInPieces(t *testing.T) {
	pieces := regexp.MustCompile(`"(?:content|text)":"([^"]*)"`)
	for kind, event := range map[string]string{
		"text/event-stream":                `data: {"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}` + "\n\n",
		"text/event-stream; charset=utf-8": "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}` + "\n\n",
		"application/x-ndjson":             `{"message":{"role":"assistant","content":%q},"done":false}` + "\n",
	} {
		for size := 1; size < 12; size++ {
			var stream strings.Builder
			for piece := range slices.Chunk([]byte("Keys: "+apiKey+" and "+ownKey+", and password: "+password+" for all."), size) {
				fmt.Fprintf(&stream, event, piece)
			}
			base := instant{&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(stream.String()))}}
			in := injectorOf(t)
			tell(chaos.NewContext(t.Context(), in), t, base, "/v1/chat/completions", "x", -1)
			said := ""
			for _, piece := range pieces.FindAllStringSubmatch(onlyEvent(t, in).Exchange.Response, -1) {
				said += piece[1]
			}
			assert.Equal(t, "Keys: [redacted] and [redacted], and password: [redacted] for all.", said, "%s in %d", kind, size)
		}
	}
}

// Injected answers are what the client read, and a client that reads little or
// nothing said as much.
func TestTalkIsWhatTheClientHas(t *testing.T) {
	api := talkAPIs()[0]
	answer := modeltest.Script(modeltest.Answer{Text: "The parcel left."})
	for _, row := range []struct {
		why    string
		rule   chaos.Rule
		reads  int64
		has    string
		hasNot string
	}{
		{"all of it", chaos.Rule{Fault: chaoshttp.CutBody(5), When: when.Nth(9)}, -1, "The parcel left.", "\x00"},
		{"a status that was injected", chaos.Rule{Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, nil)}, -1, "rate_limit", "parcel"},
		{"a completion that was changed", chaos.Rule{Fault: chaoshttp.RefuseCompletion("I will not.")}, -1, "I will not.", "parcel"},
		{"a client that never reads", chaos.Rule{Fault: chaoshttp.RefuseCompletion("I will not."), When: when.Nth(9)}, 0, "", "{"},
		{"a client that stops early", chaos.Rule{Fault: chaoshttp.RefuseCompletion("I will not."), When: when.Nth(9)}, 3, `{"`, "parcel"},
	} {
		in := injectorOf(t, row.rule)
		tell(chaos.NewContext(t.Context(), in), t, modeltest.New(t, answer), api.path, api.body(false, "Where?"), row.reads)
		e := onlyEvent(t, in)
		require.NotNil(t, e.Exchange, row.why)
		assert.Contains(t, e.Exchange.Request, "Where?", row.why)
		assert.Contains(t, e.Exchange.Response, row.has, row.why)
		assert.NotContains(t, e.Exchange.Response, row.hasNot, row.why)
	}
}

// Each body has a bound, which is said, and a secret across it does not stand there in part.
func TestTalkIsBounded(t *testing.T) {
	const most = 16 << 10
	api := talkAPIs()[0]
	for at := most - 200; at < most+200; at += 29 {
		model := modeltest.New(t, modeltest.Script(modeltest.Answer{Text: strings.Repeat("ja ", most)}))
		in := injectorOf(t)
		tell(chaos.NewContext(t.Context(), in), t, model, api.path, api.body(false, strings.Repeat("ä ", at/3)+apiKey+strings.Repeat(" ö", most)), -1)
		x := onlyEvent(t, in).Exchange
		assert.True(t, x.RequestTruncated)
		assert.True(t, x.ResponseTruncated)
		assert.LessOrEqual(t, len(x.Request), most)
		assert.LessOrEqual(t, len(x.Response), most)
		assert.Greater(t, len(x.Response), most/2)
		noSecret(t, x.Request)
	}
}

func TestTalkThatIsNoText(t *testing.T) {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.NoCompression) // so that its text is readable
	_, _ = io.WriteString(z, "the key is "+apiKey)
	require.NoError(t, z.Close())
	for kind, header := range map[string]http.Header{
		"encoded": {"Content-Encoding": {"gzip"}}, "binary": {"Content-Type": {"text/plain"}},
	} {
		in := injectorOf(t)
		base := instant{&http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(bytes.NewReader(zipped.Bytes()))}}
		tell(chaos.NewContext(t.Context(), in), t, base, "/v1/embeddings", "x", -1)
		assert.Equal(t, fmt.Sprintf("(%d bytes that are not text)", zipped.Len()), onlyEvent(t, in).Exchange.Response, kind)
	}
}

// Only calls of models are kept, and only where values are.
func TestTalkIsOfModels(t *testing.T) {
	plan, err := chaos.NewPlan(1)
	require.NoError(t, err)
	for path, keep := range map[string]bool{"/v1/orders": true, "/v1/chat/completions": false} {
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: true, KeepValues: keep, KeepExchanges: keep})
		tell(chaos.NewContext(t.Context(), in), t, chaoshttp.InProcess(http.HandlerFunc(desk)), path, map[string]string{"model": "m"}, -1)
		assert.Nil(t, onlyEvent(t, in).Exchange, path)
	}
}

// The server's side keeps it too, and events may be read while an answer is.
func TestTalkIsReadWhileItGrows(t *testing.T) {
	api := talkAPIs()[2]
	in := injectorOf(t)
	served := chaoshttp.Handler(modeltest.New(t, modeltest.Script(modeltest.Answer{Text: strings.Repeat("The parcel left. ", 200)})),
		&chaoshttp.Options{Injector: in})
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			tell(context.Background(), t, chaoshttp.InProcess(served), api.path, api.body(true, "Where?"), -1)
		})
		g.Go(func() {
			for range 20 {
				for _, e := range in.Events() {
					assert.NotNil(t, e.Exchange)
				}
			}
		})
	}
	g.Wait()
	events := in.Events()
	require.Len(t, events, 4)
	for _, e := range events {
		assert.Contains(t, e.Exchange.Response, "parcel")
	}
}
