package completion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/sse"
)

func TestWhatIsNoCompletion(t *testing.T) {
	silent := func(int) completion.Editor { return func(p *completion.Piece) { p.Text = "" } }
	for _, body := range []string{"", "null", "{}", `{"choices":{}}`, `{"choices":[{"text":"old"}]}`, `{"type":"error"}`, `{"object":"response"}`} {
		out, changes, ok := completion.Edit([]byte(body), silent)
		assert.False(t, ok, body)
		assert.Empty(t, changes)
		assert.Equal(t, body, string(out))
	}
	stream := completion.NewStream(silent)
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
