package genkit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// A deadline within a streamed answer is the end of the answer, without an error: the version of Google's client that
// Genkit asks for writes the errors of a stream to the log alone. A newer version returns them.
func TestADeadlineInAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "POST gemini.example/*", Fault: chaoshttp.HangStream(1)})
		require.NoError(t, err)
		in := plan.Injector("deadline", nil)
		tools, err := chaos.NewRegistry()
		require.NoError(t, err)
		model := modeltest.New(t, modeltest.Script(modeltest.Answer{Text: "Order 1042 was refunded."}))
		ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Minute)
		defer cancel()
		answer, err := askStreamed(ctx, chaoshttp.NewTransport(model, nil), tools, "Refund order 1042.")
		assert.NoError(t, err)
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		assert.Equal(t, "Order ", answer)
		assert.Empty(t, in.Undelivered())
	})
}
