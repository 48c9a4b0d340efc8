package behaviour

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A request that continues a thread is to the model as one with all messages, also when answers are streamed.
func TestThreads(t *testing.T) {
	ids := regexp.MustCompile(`"id":"((?:msg|toolu)_\w+)"`)
	for _, stream := range []string{"false", "true"} {
		m := newModel(false)
		s := newServer(m)
		ask := func(members string) (status int, answer string) {
			body := `{"model":"m","max_tokens":9,"stream":` + stream + `,` + members + `}`
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.anthropic.example/v1/messages", strings.NewReader(body))
			require.NoError(t, err)
			resp, err := s.RoundTrip(r)
			require.NoError(t, err)
			doc, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, string(doc)
		}
		const first = `"system":"Be brief.","tools":[{"name":"look_up","input_schema":{"type":"object"}},{"name":"refund","input_schema":{"type":"object"}}],` +
			`"messages":[{"role":"user","content":"Refund it."}]`
		status, answer := ask(first + `,"thread":{"type":"create"}`)
		require.Equal(t, http.StatusOK, status, answer)
		found := ids.FindAllStringSubmatch(answer, -1)
		require.Len(t, found, 2, answer)
		next := `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + found[1][1] + `","content":"delivered"}]}],` +
			`"thread":{"type":"continue","previous_message_id":"` + found[0][1] + `"}`

		status, answer = ask(next)
		assert.Equal(t, http.StatusOK, status, answer)
		require.Len(t, m.requests, 2, "stream %s: what the thread adds is not counted", stream)
		last := m.requests[1]
		assert.Len(t, last.Messages, 4, "system, user, the call and its result")
		assert.Len(t, last.Tools, 2)
		assert.Equal(t, stream == "true", last.Stream)
		assert.Contains(t, answer, refund)

		status, answer = ask(next)
		assert.Equal(t, http.StatusBadRequest, status, "an answer is continued once")
		assert.Contains(t, answer, "thread_already_continued")
		assert.Len(t, m.requests, 2)

		status, answer = ask(first)
		assert.Equal(t, http.StatusOK, status, answer)
		assert.JSONEq(t, `{"model":"m","max_tokens":9,"stream":`+stream+`,`+first+`}`, string(m.requests[2].Body), "no thread: it passes")
	}
}
