package completion_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	f.Add(`{"choices":[{"message":{"content":"hello","tool_calls":[{"index":0,"function":{"name":"refund","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
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
