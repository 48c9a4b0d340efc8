package suite_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract"
)

const completion = `{"id":"c1","object":"chat.completion","model":"gpt-5","choices":[{"index":0,"finish_reason":"stop",` +
	`"message":{"role":"assistant","content":"{\"order_id\":\"1042\",\"note\":\"Refunded, and the customer was told so.\"}"}}]}`

// asksAModel makes worlds whose agent answers with what a model behind HTTP says: the status and
// the body, or the error.
func asksAModel(context.Context) (*contract.World, error) {
	model := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, completion)
	}))
	client := &http.Client{Transport: chaoshttp.NewTransport(model, nil)}
	return &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		question := `{"model": "gpt-5", "messages": [{"role": "user", "content": "` + prompt + `"}]}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions",
			strings.NewReader(question))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/json")
		reply, err := client.Do(r)
		if err != nil {
			return "failed: " + err.Error(), nil
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		return reply.Status + " " + string(body), err
	}}, nil
}

// Each mode of llm_faults does to the answer of a model what it says.
func TestModelFaults(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range []struct {
		keys      string
		took      time.Duration
		has, lost string // of the answer, in lower case
	}{
		{"mode: timeout", 30 * time.Second, "timeout", "refunded"},
		{"mode: timeout, delay_ms: 70", 70 * time.Millisecond, "timeout", "refunded"},
		{"mode: truncated_response, max_tokens: 3", 0, `"length"`, "1042"},
		{"mode: truncated_response", 0, `"length"`, "customer"},
		{"mode: rate_limit", 0, "429", "refunded"},
		{"mode: empty", 0, `"content":""`, "refunded"},
		{"mode: garbage", 0, `"stop"`, "refunded"},
		{"mode: response_drift", 0, "refunded", "order_id"},
		{"mode: response_drift, drift_type: verbosity_shift", 0, "refunded", "429"},
		{"mode: response_drift, drift_type: format_change", 0, "refunded", "429"},
		{"mode: response_drift, drift_type: tone_shift", 0, "refunded", "429"},
		{"mode: response_drift, drift_type: refusal_rephrase", 0, `"stop"`, "refunded"},
	} {
		t.Run(row.keys, func(t *testing.T) {
			s := loaded(t, contractOf("{type: completes}",
				"{name: x, llm_faults: [{point: 'POST api.openai.com/*', api: openai, "+row.keys+"}]}"), nil)
			r := runs(t, s, asksAModel)["contract"]
			require.Len(t, r.Faults, 1)
			assert.Equal(t, 1, r.Faults[0].Delivered)
			answer := strings.ToLower(r.Cells[0].Evidence.Response)
			assert.NotEqual(t, strings.ToLower("200 OK "+completion), answer)
			assert.Contains(t, answer, row.has)
			assert.NotContains(t, answer, row.lost)
			assert.Equal(t, row.took, r.Cells[0].Elapsed)
		})
		seen[strings.Split(strings.TrimPrefix(row.keys, "mode: "), ",")[0]] = true
	}
	for _, row := range rowsOfModes() {
		assert.True(t, row.list != "llm_faults" || seen[row.name], "%s has no row", row.name)
	}
}
