package suite_test

import (
	"context"
	"encoding/json"
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

// asksAModel makes worlds whose agent answers as a model behind HTTP does: the status, the
// reason of the end, and the text or the error.
func asksAModel(context.Context) (*contract.World, error) {
	model := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, completion)
	}))
	client := &http.Client{Transport: chaoshttp.NewTransport(model, nil)}
	return &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		question, _ := json.Marshal(map[string]any{"model": "gpt-5",
			"messages": []map[string]string{{"role": "user", "content": prompt}}})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions",
			strings.NewReader(string(question)))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/json")
		reply, err := client.Do(r)
		if err != nil {
			return "failed: " + err.Error(), nil
		}
		defer reply.Body.Close()
		var body struct {
			Choices []struct {
				End     string `json:"finish_reason"`
				Message struct {
					Content string `json:"content"`
					Refusal string `json:"refusal"`
				} `json:"message"`
			} `json:"choices"`
			Error struct {
				Type string `json:"type"`
				Code string `json:"code"`
			} `json:"error"`
		}
		if err := json.NewDecoder(reply.Body).Decode(&body); err != nil {
			return "", err
		}
		if len(body.Choices) == 0 {
			return reply.Status + " " + body.Error.Type + " " + body.Error.Code, nil
		}
		c := body.Choices[0]
		return c.End + ": " + c.Message.Content + c.Message.Refusal, nil
	}}, nil
}

// Each mode of llm_faults does to the answer of a model what it says.
func TestModelFaults(t *testing.T) {
	var parsed struct {
		Choices []struct{ Message struct{ Content string } }
	}
	require.NoError(t, json.Unmarshal([]byte(completion), &parsed))
	calm := parsed.Choices[0].Message.Content
	seen := map[string]bool{}
	for _, row := range []struct {
		keys string
		took time.Duration
		says func(t *testing.T, answer string)
	}{
		{"mode: timeout", 30 * time.Second, has("failed: ", "timeout")},
		{"mode: timeout, delay_ms: 70", 70 * time.Millisecond, has("failed: ", "timeout")},
		{"mode: truncated_response, max_tokens: 3", 0, func(t *testing.T, answer string) {
			assert.Equal(t, "length: "+calm[:12], answer)
		}},
		{"mode: truncated_response", 0, func(t *testing.T, answer string) {
			assert.Equal(t, "length: "+calm[:40], answer)
		}},
		{"mode: rate_limit", 0, has("429", "rate_limit")},
		{"mode: empty", 0, func(t *testing.T, answer string) { assert.Equal(t, "stop: ", answer) }},
		{"mode: garbage", 0, func(t *testing.T, answer string) {
			assert.True(t, strings.HasPrefix(answer, "stop: "))
			assert.NotContains(t, answer, "Refunded")
		}},
		{"mode: response_drift", 0, func(t *testing.T, answer string) {
			var was, is map[string]string
			require.NoError(t, json.Unmarshal([]byte(calm), &was))
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(answer, "stop: ")), &is))
			assert.Len(t, is, len(was))
			assert.NotEqual(t, was, is, "the members have other names")
			assert.ElementsMatch(t, values(was), values(is), "and the same values")
		}},
		{"mode: response_drift, drift_type: verbosity_shift", 0, has("stop: ", "Refunded")},
		{"mode: response_drift, drift_type: format_change", 0, has("stop: ", "Refunded")},
		{"mode: response_drift, drift_type: tone_shift", 0, has("stop: ", "Refunded")},
		{"mode: response_drift, drift_type: refusal_rephrase", 0, func(t *testing.T, answer string) {
			assert.NotContains(t, answer, "Refunded")
			assert.Regexp(t, `(?i)can('|no|’)t|sorry`, answer)
		}},
	} {
		t.Run(row.keys, func(t *testing.T) {
			s := loaded(t, contractOf("{type: completes}",
				"{name: x, llm_faults: [{point: 'POST api.openai.com/*', api: openai, "+row.keys+"}]}"), nil)
			r := runs(t, s, asksAModel)["contract"]
			require.Len(t, r.Faults, 1)
			assert.Equal(t, 1, r.Faults[0].Delivered)
			answer := r.Cells[0].Evidence.Response
			assert.NotEqual(t, "stop: "+calm, answer)
			row.says(t, answer)
			assert.Equal(t, row.took, r.Cells[0].Elapsed)
		})
		seen[strings.Split(strings.TrimPrefix(row.keys, "mode: "), ",")[0]] = true
	}
	for _, row := range rowsOfModes() {
		assert.True(t, row.list != "llm_faults" || seen[row.name], "%s has no row", row.name)
	}
}

func has(parts ...string) func(*testing.T, string) {
	return func(t *testing.T, answer string) {
		for _, part := range parts {
			assert.Contains(t, strings.ToLower(answer), strings.ToLower(part))
		}
	}
}

func values(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
