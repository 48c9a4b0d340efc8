package completion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// shout is an editor that changes each text, and no arguments.
func shout(int) completion.Editor {
	return func(p *completion.Piece) {
		if p.Kind == completion.Text {
			p.Text = strings.ToUpper(p.Text)
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	text := strings.Repeat("The order was shipped on Monday. ", 60)
	for name, body := range map[string]string{
		"chat": fmt.Sprintf(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q,"tool_calls":[{"id":"a","type":"function","function":{"name":"orders","arguments":"{\"order_id\":1042}"}}]},"finish_reason":"tool_calls"}]}`, text),
		"message": fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":"a","name":"orders","input":{"order_id":1042}}],"stop_reason":"tool_use"}`,
			text),
		"response": fmt.Sprintf(`{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":%q}]},{"type":"function_call","name":"orders","arguments":"{\"order_id\":1042}"}]}`, text),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, changes, ok := completion.Edit([]byte(body), shout); !ok || len(changes) == 0 {
					b.Fatal("nothing was changed")
				}
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for name, events := range map[string][]string{
		"chat": append(repeated(`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"shipped "},"finish_reason":null}]}`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		"message": append(append([]string{`{"type":"message_start","message":{"type":"message","content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
			repeated(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"shipped "}}`)...),
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		"response": append(append([]string{`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`},
			repeated(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"shipped "}`)...),
			`{"type":"response.completed","response":{"status":"completed","output":[]}}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stream := completion.NewStream(shout)
				for n, data := range events {
					stream.Event(n, sse.Event{Data: data, HasData: true, Ended: true})
				}
				if !stream.Changed() {
					b.Fatal("nothing was changed")
				}
			}
		})
	}
}

func repeated(event string) (events []string) {
	for range 100 {
		events = append(events, event)
	}
	return events
}
