package behaviour

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// server is a provider's, with a scripted model. It keeps message threads as Anthropic's does: a request that continues
// one has only the new messages, and an answer is continued once. It is behind the faults: what they make of an answer is
// not in its thread. Requests without a thread go to the model as they are. It is for one agent, which waits for answers.
type server struct {
	model, memory *modeltest.Model    // the memory says the same, whole, and counts nothing
	held          map[string]threaded // by the id of the last answer, until that is continued
}

// A threaded request. One that continues its thread leaves out system, tools, and what was said before.
type threaded struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	System    json.RawMessage   `json:"system,omitempty"`
	Tools     json.RawMessage   `json:"tools,omitempty"`
	Messages  []json.RawMessage `json:"messages"`
	Thread    *struct {
		Type     string
		Previous string `json:"previous_message_id"`
	} `json:"thread,omitempty"`
}

func newServer(m *model) *server {
	again := func(_ context.Context, r modeltest.Request) (modeltest.Answer, error) { return m.next(r.Messages), nil }
	return &server{modeltest.New(nil, m.answer), modeltest.New(nil, again), map[string]threaded{}}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in threaded
	if json.Unmarshal(body, &in) != nil || in.Thread == nil {
		return send(r, s.model, body)
	}
	link := *in.Thread
	if in.Thread = nil; link.Type == "continue" {
		was, ok := s.held[link.Previous]
		if !ok {
			refusal := `{"type":"error","error":{"type":"invalid_request_error","message":"","details":{"error_code":"thread_already_continued"}}}`
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(refusal)), Request: r}, nil
		}
		in.System, in.Tools, in.Messages = was.System, was.Tools, slices.Concat(was.Messages, in.Messages)
	}
	resp, err := send(r, s.model, in.body())
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	in.Stream = false
	whole, err := send(r, s.memory, in.body())
	if err != nil {
		return nil, err
	}
	var answer struct{ ID string }
	if body, err = io.ReadAll(whole.Body); err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return nil, err
	}
	in.Messages = append(in.Messages, body) // a request has its role and content alone; the model reads no more
	delete(s.held, link.Previous)
	s.held[answer.ID] = in
	return resp, nil
}

func (t threaded) body() []byte {
	doc, err := json.Marshal(t)
	if err != nil {
		panic(err) // it was decoded
	}
	return doc
}

func send(r *http.Request, to *modeltest.Model, body []byte) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return to.RoundTrip(r)
}
