package chaoshttp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// What a model said is read of every API, streamed or not, whole or cut.
func TestSaid(t *testing.T) {
	const whole = "Order 1042 was shipped on Monday."
	apis := talkAPIs()
	for _, path := range []string{"generateContent", "streamGenerateContent?alt=sse&"} {
		apis = append(apis, talkAPI{"gemini", "/v1beta/models/m:" + path, func(bool, string) any {
			return map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": "Where?"}}}}}
		}})
	}
	rule := func(f chaos.Fault) chaos.Rule { return chaos.Rule{Target: "*", Fault: f} }
	for _, api := range apis {
		for _, stream := range []bool{false, true} {
			for _, tt := range []struct {
				why          string
				rules        []chaos.Rule
				text, reason string
			}{
				{"whole", nil, whole, "stop"},
				{"cut at its limit", []chaos.Rule{rule(chaoshttp.CutCompletion(10))}, whole[:10], "length"},
				{"cut, and no terminator", []chaos.Rule{rule(chaoshttp.CutCompletion(10)), rule(chaoshttp.DropTerminator())}, whole[:10], "length"},
				{"broken off", []chaos.Rule{rule(chaoshttp.CutStream(3))}, "", ""},
			} {
				in := injectorOf(t, tt.rules...)
				model := modeltest.New(t, modeltest.Script(modeltest.Answer{Text: whole}))
				tell(chaos.NewContext(t.Context(), in), t, model, api.path, api.body(stream, "Where?"), -1)
				text, reason, ok := chaoshttp.Said(onlyEvent(t, in).Exchange)
				streams := stream && api.name != "gemini" || strings.HasPrefix(api.path, "/v1beta/models/m:stream")
				switch tt.why {
				case "cut, and no terminator":
					if api.name == "ollama" && stream {
						tt.reason = "" // the last line has it
					}
				case "broken off":
					if !streams { // the fault is not for it
						tt.text, tt.reason = whole, "stop"
						break
					}
					if ok {
						assert.True(t, strings.HasPrefix(whole, text) && text != whole, text)
						tt.text = text
					}
				}
				assert.True(t, ok || tt.why == "broken off", "%s %s", api.path, tt.why)
				assert.Equal(t, []string{tt.text, tt.reason}, []string{text, reason}, "%s, stream %v: %s", api.path, stream, tt.why)
			}
		}
	}
}

// What is no completion, or not all of one, is not read.
func TestSaidNothing(t *testing.T) {
	for _, x := range []*chaos.Exchange{nil, {}, {Response: "[]"}, {Response: `{"id":7}`}, {Response: "data: x\n\n"},
		{Response: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}` + strings.Repeat(" ", 9<<10), ResponseTruncated: true}} {
		text, reason, ok := chaoshttp.Said(x)
		assert.False(t, ok, "%+v", x)
		assert.Empty(t, text+reason)
	}
	text, reason, ok := chaoshttp.Said(&chaos.Exchange{ResponseTruncated: true,
		Response: "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Order \"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"del"})
	assert.Equal(t, []any{"Order ", "", true}, []any{text, reason, ok}, "a stream that broke off within an event")
}
