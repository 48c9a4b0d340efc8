package search_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
)

// Points that are no tools are swept too: a function, a stream, a line of code and a
// transport, each with what fits it.
func TestSweepOfPointsThatAreNoTools(t *testing.T) {
	price := chaos.Wrap("price", func(context.Context, string) (int, error) { return 7, nil })
	words := chaos.WrapStream("words", func(context.Context, string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { _ = yield("one", nil) && yield("two", nil) }
	})
	m := planted(nil)
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		server := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"stock": 3}`)
		}))
		client := &http.Client{Transport: chaoshttp.NewTransport(server, nil)}
		return &contract.World{Close: server.Close, Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			n, err := price(ctx, "teapot")
			wrong := err == nil && n != 7
			heard := 0
			for _, err := range words(ctx, "say") {
				if err == nil {
					heard++
				}
			}
			wrong = wrong || heard == 1
			if chaos.Point(ctx, "log") != nil {
				return "wrong: the log", nil
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://stock.test/teapot", nil)
			if err != nil {
				return "", err
			}
			if answer, err := client.Do(r); err == nil {
				body, _ := io.ReadAll(answer.Body)
				answer.Body.Close()
				wrong = wrong || answer.StatusCode == http.StatusOK && string(body) != `{"stock": 3}`
			}
			return verdict(wrong), nil
		}}, nil
	}
	m.Points = []string{"price", "words", "log"}
	o := inBubbles(t)
	o.Strength = 1
	r := sweep(t, m, o)
	var said []string
	for _, d := range r.Defects {
		said = append(said, d.Sentence)
	}
	assert.ElementsMatch(t, []string{"price returns an empty result", "words meets stream_cut", "log fails",
		"GET stock.test/teapot meets malformed_json"}, said, "%v", r)
	kinds := map[string][]string{}
	for _, g := range r.Strength.Guards {
		kinds[g.Target] = append(kinds[g.Target], g.Fault)
	}
	assert.Equal(t, []string{"error", "http_status", "latency", "malformed_json", "timeout"}, kinds["GET stock.test/teapot"])
	assert.Contains(t, kinds["words"], "missing_terminator")
	assert.True(t, r.Strength.StateUnknown, "the world tells no state")
	require.Positive(t, r.Levels[0].Undelivered, "what has no result cannot be empty")
}
