package chaoshttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// What a fault does not change keeps its order, its numbers and its strangers.
func TestTheRestStays(t *testing.T) {
	body := `{"z":1.50e+2,"choices":[{"finish_reason":"stop","x":[ 1 ],"message":{"content":"hello","role":"assistant"},"index":0}],"usage":{ "n":12345678901234567890 }}`
	a := fetch(t, doc(body), chaoshttp.CutCompletion(2))
	assert.Equal(t, `{"z":1.50e+2,"choices":[{"finish_reason":"length","x":[ 1 ],"message":{"content":"he","role":"assistant"},"index":0}],"usage":{ "n":12345678901234567890 }}`, a.body)
	assert.Equal(t, []chaos.Change{
		{Path: "$.choices[0].message.content", Before: []byte(`"hello"`), After: []byte(`"he"`)},
		{Path: "$.choices[0].finish_reason", Before: []byte(`"stop"`), After: []byte(`"length"`)},
	}, a.event(t).Changes)
}

func TestEachChoiceIsEdited(t *testing.T) {
	choice := `{"index":%d,"message":{"content":"hello"},"finish_reason":"stop"}`
	a := fetch(t, doc(`{"choices":[`+fmt.Sprintf(choice, 0)+`,`+fmt.Sprintf(choice, 1)+`]}`), chaoshttp.EmptyCompletion())
	assert.Equal(t, strings.ReplaceAll(`{"choices":[`+fmt.Sprintf(choice, 0)+`,`+fmt.Sprintf(choice, 1)+`]}`, `"hello"`, `""`), a.body)
	chunk := `{"choices":[{"index":%d,"delta":{"content":"hello"},"finish_reason":null}]}`
	two := "data: " + fmt.Sprintf(chunk, 0) + "\n\ndata: " + fmt.Sprintf(chunk, 1) + "\n\ndata: " + fmt.Sprintf(chunk, 0) + "\n\n"
	a = fetch(t, stream(two), chaoshttp.CutCompletion(7))
	assert.Equal(t, []string{"hello", "hello", "he"}, contents(t, a.body), "each has its own limit")
}

func contents(t *testing.T, body string) (texts []string) {
	for _, d := range data(body) {
		texts = append(texts, decoded[struct{ Choices []struct{ Delta chatMessage } }](t, d).Choices[0].Delta.text())
	}
	return texts
}

func (m chatMessage) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

func TestBodiesThatAreNotUnderstood(t *testing.T) {
	long := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 9<<20) + `"},"finish_reason":"stop"}]}`
	for name, tc := range map[string]struct {
		from *canned
		note string
	}{
		"no JSON":             {doc(`{"choices":`), "no chat completion"},
		"nothing":             {doc(``), "no chat completion"},
		"an error in 200":     {doc(`{"error":{"message":"x"}}`), "no chat completion"},
		"a list":              {doc(`[]`), "no chat completion"},
		"no choices":          {doc(`{"choices":[]}`), "no chat completion"},
		"other objects":       {doc(`{"object":"list","data":[]}`), "no chat completion"},
		"other events":        {stream("data: {}\n\ndata: [DONE]\n\n"), "no chat completion"},
		"nothing of events":   {stream(""), "no chat completion"},
		"longer than is held": {&canned{contentType: "application/json", body: strings.NewReader(long)}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := io.ReadAll(tc.from.body)
			require.NoError(t, err)
			tc.from.body = strings.NewReader(string(want))
			a := fetch(t, tc.from, chaoshttp.EmptyCompletion())
			assert.True(t, string(want) == a.body, "it passes as it is")
			assert.NoError(t, a.err)
			assert.False(t, a.event(t).Delivered)
			assert.Contains(t, a.event(t).Note, tc.note)
		})
	}
}

// A header that says how long the body was would be wrong.
func TestEditedBodiesHaveNoLength(t *testing.T) {
	from := doc(writeChat(words(), nil))
	from.header = http.Header{"Content-Length": {"999"}, "X-Request-Id": {"req_1"}}
	a := fetch(t, from, chaoshttp.EmptyCompletion())
	assert.Empty(t, a.header.Get("Content-Length"))
	assert.Equal(t, "req_1", a.header.Get("X-Request-Id"))
	assert.Equal(t, "999", from.header.Get("Content-Length"), "the provider's own is not touched")
}

func TestAnAnswerThatNobodyReadsIsNotDelivered(t *testing.T) {
	resp, in := open(t, t.Context(), doc(writeChat(words(), nil)), chaoshttp.EmptyCompletion())
	require.NoError(t, resp.Body.Close())
	require.Len(t, in.Events(), 1)
	assert.False(t, in.Events()[0].Delivered)
}

// Several faults act on one stream, in the order of their rules.
func TestFaultsAddUp(t *testing.T) {
	plan, err := chaos.NewPlan(1,
		chaos.Rule{Name: "garbled", Target: "*", Fault: chaoshttp.SpoilCompletion(chaoshttp.PartContent, chaoshttp.SpoilError)},
		chaos.Rule{Name: "cut", Target: "*", Fault: chaoshttp.CutCompletion(8)},
		chaos.Rule{Name: "open", Target: "*", Fault: chaoshttp.DropTerminator()},
	)
	require.NoError(t, err)
	in := plan.Injector("cell", nil)
	w := wires()["chat stream"]
	client := &http.Client{Transport: chaoshttp.NewTransport(stream(w.write(words(), []int{5})), &chaoshttp.Options{Injector: in})}
	resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.NotContains(t, string(body), "[DONE]")
	got := readChatStream(t, string(body)+"data: [DONE]\n\n")
	assert.Equal(t, said{text: "Internal", reason: "length"}, got)
	e := in.Events()[0]
	assert.True(t, e.Delivered)
	assert.Len(t, e.Also, 2)
}

func FuzzBodies(f *testing.F) {
	for _, w := range wires() {
		f.Add(w.write(call(), []int{3}), w.contentType == "text/event-stream")
	}
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[null,{}]}}]}\n\n", true)
	f.Add("data: {\"type\":\"response.output_text.done\",\"output_index\":3}\n\n", true)
	faults := all()
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		for name, fault := range faults {
			from := doc(body)
			if streamed {
				from = stream(body)
			}
			a := fetch(t, from, fault)
			assert.NoError(t, a.err)
			if !streamed && !a.event(t).Delivered {
				assert.Equal(t, body, a.body, name)
			}
		}
	})
}
