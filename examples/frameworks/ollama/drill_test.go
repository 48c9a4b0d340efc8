package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/drill"
)

// driven is this client as the drill tests it.
func driven() *drill.Client {
	return &drill.Client{
		API: chaoshttp.Ollama, Target: "POST ollama.example/*", Section: "ollama", Reason: "done_reason",
		Kinds: []chaoshttp.ErrorKind{
			chaoshttp.KindInvalidRequest, chaoshttp.KindContextLength, chaoshttp.KindAuthentication, chaoshttp.KindQuota, chaoshttp.KindPermission,
			chaoshttp.KindNotFound, chaoshttp.KindRateLimit, chaoshttp.KindServer, chaoshttp.KindOverloaded,
		},
		EventKind: chaoshttp.KindServer,
		Provider:  drill.Provider,
		Whole: func(ctx context.Context, answers http.RoundTripper, tools bool) drill.Seen {
			return seen(ctx, answers, tools, false)
		},
		Streamed: func(ctx context.Context, answers http.RoundTripper, tools bool) drill.Seen {
			return seen(ctx, answers, tools, true)
		},
		Ask: func(ctx context.Context, answers http.RoundTripper, question string) (string, error) {
			return ask(ctx, newClient(chaoshttp.NewTransport(answers, nil)), question)
		},
		OwnError: func(err error) string {
			var status api.StatusError
			var denied api.AuthorizationError
			switch {
			case errors.As(err, &status):
				return fmt.Sprintf("`api.StatusError` %d %s", status.StatusCode, status.ErrorMessage)
			case errors.As(err, &denied):
				return fmt.Sprintf("`api.AuthorizationError` %d", denied.StatusCode)
			}
			return ""
		},
	}
}

func TestTable(t *testing.T)                  { driven().Table(t) }
func TestRecordedAndPlayed(t *testing.T)      { driven().RecordedAndPlayed(t) }
func TestARecordedMatrixReplays(t *testing.T) { driven().RecordedMatrix(t) }

// seen gathers the answer as the client's users do.
func seen(ctx context.Context, answers http.RoundTripper, tools, stream bool) (s drill.Seen) {
	request := &api.ChatRequest{Model: model, Stream: &stream,
		Messages: []api.Message{{Role: "user", Content: "Where is order 1042?"}}}
	if tools {
		request.Tools = api.Tools{tool()}
	}
	client := newClient(chaoshttp.NewTransport(answers, nil))
	s.Err = client.Chat(ctx, request, func(r api.ChatResponse) error {
		s.Text += r.Message.Content
		for _, call := range r.Message.ToolCalls {
			s.Calls = append(s.Calls, call.Function.Name+" "+call.Function.Arguments.String())
		}
		s.Reason += r.DoneReason
		return nil
	})
	return s
}
