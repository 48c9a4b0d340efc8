package completion_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// editors has each editor once, under the name of its constructor.
func editors() map[string]func(chaos.Call) completion.Editor {
	type with = func(chaos.Call) completion.Editor
	always := func(e func() completion.Editor) with { return func(chaos.Call) completion.Editor { return e() } }
	return map[string]with{
		"Empty": always(completion.Empty), "Cut": always(func() completion.Editor { return completion.Cut(7) }),
		"Filter": always(func() completion.Editor { return completion.Filter(3) }),
		"Refuse": always(func() completion.Editor { return completion.Refuse("No.") }),
		"Garble": completion.Garble, "Replace": always(func() completion.Editor { return completion.Replace("Internal server error") }),
		"Truncate": completion.Truncate, "MalformCalls": always(completion.MalformCalls), "StripCalls": always(completion.StripCalls),
		"RenameCall":       func(c chaos.Call) completion.Editor { return completion.RenameCall(c, "") },
		"WrongArgument":    func(c chaos.Call) completion.Editor { return completion.WrongArgument(c, "") },
		"MissingArgument":  func(c chaos.Call) completion.Editor { return completion.MissingArgument(c, "a") },
		"EmptyArguments":   always(completion.EmptyArguments),
		"ReplaceArguments": always(func() completion.Editor { return completion.ReplaceArguments("x") }),
		"HalveArguments":   always(completion.HalveArguments), "GarbleArguments": completion.GarbleArguments, "RenameArguments": completion.RenameArguments,
		"RenameKey": completion.RenameKey, "Reshape": completion.Reshape, "Reformat": always(completion.Reformat),
		"Verbose": completion.Verbose, "Rude": completion.Rude,
	}
}

// said is what a client has in the end.
type said struct{ text, refusal, tool, args, reason string }

type message struct {
	Content   string `json:"content,omitempty"`
	Refusal   string `json:"refusal,omitempty"`
	ToolCalls []call `json:"tool_calls,omitempty"`
}

type call struct {
	Index    int `json:"index"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chat struct {
	Choices []choice `json:"choices"`
}

type choice struct {
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Reason  *string  `json:"finish_reason"`
}

func (s *said) add(m *message, reason *string) {
	s.text, s.refusal = s.text+m.Content, s.refusal+m.Refusal
	for _, c := range m.ToolCalls {
		s.tool, s.args = s.tool+c.Function.Name, s.args+c.Function.Arguments
	}
	if reason != nil {
		s.reason = *reason
	}
}

func calling(name, args string) []call {
	c := call{}
	c.Function.Name, c.Function.Arguments = name, args
	return []call{c}
}

// document is a completion of a text and a tool call, unless that has no
// arguments.
func document(text, args string) []byte {
	reason, m := "stop", &message{Content: text}
	if args != "" {
		reason, m.ToolCalls = "tool_calls", calling("refund", args)
	}
	body, _ := json.Marshal(chat{[]choice{{Message: m, Reason: &reason}}})
	return body
}

// parts are the same completion in events.
func parts(texts, args []string) (events []sse.Event) {
	add := func(c choice) {
		body, _ := json.Marshal(chat{[]choice{c}})
		events = append(events, sse.Event{Data: string(body), HasData: true, Raw: fmt.Appendf(nil, "data: %s\n\n", body), Ended: true})
	}
	reason := "stop"
	for _, text := range texts {
		add(choice{Delta: &message{Content: text}})
	}
	for i, arg := range args {
		reason = "tool_calls"
		if i == 0 {
			add(choice{Delta: &message{ToolCalls: calling("refund", "")}})
		}
		add(choice{Delta: &message{ToolCalls: calling("", arg)}})
	}
	add(choice{Delta: &message{}, Reason: &reason})
	return events
}

func whole(t require.TestingT, body []byte) (s said) {
	var doc chat
	require.NoError(t, json.Unmarshal(body, &doc), "%s", body)
	for _, c := range doc.Choices {
		s.add(c.Message, c.Reason)
	}
	return s
}

func joined(t require.TestingT, out []byte) (s said) {
	for _, line := range strings.Split(string(out), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var doc chat
			require.NoError(t, json.Unmarshal([]byte(data), &doc), "%s", data)
			for _, c := range doc.Choices {
				s.add(c.Delta, c.Reason)
			}
		}
	}
	return s
}

// split cuts a text between characters, at the places that are drawn.
func split(t *rapid.T, s, label string) (list []string) {
	for s != "" {
		n := rapid.IntRange(1, utf8.RuneCountInString(s)).Draw(t, label)
		at := 0
		for range n {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
		}
		list, s = append(list, s[:at]), s[at:]
	}
	return list
}

// What a client has in the end does not depend on how a stream was split: it is
// what the same completion as one document says. Nothing is changed without an
// entry.
func TestAStreamSaysWhatItsDocumentSays(t *testing.T) {
	for name, of := range editors() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " \n", `{"order_id": 7, "status": "ok"}`, `  [{"a":1}]`, "I will refund it."})).Draw(t, "text")
				args := rapid.SampledFrom([]string{"", `{}`, `{"a":1}`, `{ "order_id" : "Ä7", "a": [true, null]} `, "no JSON"}).Draw(t, "args")
				text = strings.ToValidUTF8(text, "")
				fresh := func(i int) completion.Editor { return of(chaos.Call{Key: 7, Target: "m"}.Sub(i)) }

				body := document(text, args)
				out, changes, ok := completion.Edit(body, fresh)
				require.True(t, ok)
				want := whole(t, out)
				assert.Equal(t, string(out) == string(body), len(changes) == 0, "%s", out)

				stream, events := completion.NewStream(fresh), parts(split(t, text, "texts"), split(t, args, "args"))
				var got []byte
				for i, e := range events {
					out, _ := stream.Event(i, e)
					got = append(got, out...)
				}
				rest, _ := stream.Rest(len(events))
				assert.Empty(t, rest, "the stream ended as it should")
				assert.True(t, stream.Understood())
				assert.Equal(t, want, joined(t, got))
			})
		})
	}
}

func TestWhatIsNoCompletion(t *testing.T) {
	for _, body := range []string{"", "null", "{}", `{"choices":{}}`, `{"choices":[{"text":"old"}]}`, `{"type":"error"}`, `{"object":"response"}`} {
		out, changes, ok := completion.Edit([]byte(body), func(int) completion.Editor { return completion.Empty() })
		assert.False(t, ok, body)
		assert.Empty(t, changes)
		assert.Equal(t, body, string(out))
	}
	stream := completion.NewStream(func(int) completion.Editor { return completion.Empty() })
	out, changes := stream.Event(0, sse.Event{Data: `{"type":"ping"}`, HasData: true, Raw: []byte("data: {\"type\":\"ping\"}\n\n")})
	assert.Equal(t, "data: {\"type\":\"ping\"}\n\n", string(out), "an event without content passes")
	assert.Empty(t, changes)
	assert.False(t, stream.Understood())
}

func TestEnds(t *testing.T) {
	for data, want := range map[string]bool{
		"[DONE]": true, " [DONE] ": true, `{"type":"message_stop"}`: true, `{"type":"response.completed","response":{}}`: true,
		"": false, "DONE": false, `{"type":"message_delta"}`: false, `{"done":true}`: false, `{"type":"message_stop"`: false,
	} {
		assert.Equal(t, want, completion.Ends(data), data)
	}
}

// FuzzEdit holds that editing never panics, and that what was JSON stays JSON.
func FuzzEdit(f *testing.F) {
	f.Add(string(document("hello", `{"a":1}`)))
	f.Add(`{"type":"message","content":[{"type":"text","text":"hi"},{"type":"tool_use","name":"x","input":{"a":1}}],"stop_reason":"tool_use"}`)
	f.Add(`{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","name":"x","arguments":"{}"}]}`)
	f.Add(`{"type":"message_start"}` + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}` + "\n" + `{"type":"content_block_stop","index":0}`)
	f.Add(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}` + "\n" + `{"type":"response.completed","response":{"status":"completed","output":[]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		for name, of := range editors() {
			fresh := func(i int) completion.Editor { return of(chaos.Call{Key: 7}.Sub(i)) }
			out, changes, ok := completion.Edit([]byte(body), fresh)
			if json.Valid([]byte(body)) {
				require.True(t, json.Valid(out), "%s: %s", name, out)
			}
			if !ok || len(changes) == 0 {
				require.Equal(t, body, string(out), name)
			}
			stream := completion.NewStream(fresh)
			lines := strings.Split(body, "\n")
			for i, line := range lines {
				stream.Event(i, sse.Event{Data: line, HasData: true, Raw: []byte("data: " + line + "\n\n")})
			}
			stream.Rest(len(lines))
		}
	})
}
