package plain

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// A chat leaves a turn whose stream was cut out of its history, the question included: what docs/frameworks.md tells
// the maintainers.
func TestACutTurnIsNotInTheHistory(t *testing.T) {
	tools, err := chaos.NewRegistry()
	require.NoError(t, err)
	ask := func(faults ...chaos.Rule) *genai.Chat {
		plan, err := chaos.NewPlan(1, faults...)
		require.NoError(t, err)
		in := plan.Injector("history", nil)
		var model http.RoundTripper = modeltest.New(t, modeltest.Script(modeltest.Answer{Text: "It was shipped on Monday."}))
		chat, err := newChat(t.Context(), chaoshttp.NewTransport(model, &chaoshttp.Options{Injector: in}), tools)
		require.NoError(t, err)
		said, err := inPieces(t.Context(), chat, []genai.Part{{Text: "Where is it?"}})
		require.NoError(t, err)
		require.NotEmpty(t, said.text)
		require.Empty(t, in.Undelivered())
		return chat
	}
	assert.NotEmpty(t, ask().History(true), "without a fault")
	assert.Empty(t, ask(chaos.Rule{Target: "POST gemini.example/*", Fault: chaoshttp.CutStream(2)}).History(true))
}
