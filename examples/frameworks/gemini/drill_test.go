package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/drill"
)

// driven is this client as the drill tests it.
func driven() *drill.Client {
	return &drill.Client{
		API: chaoshttp.Gemini, Target: "POST gemini.example/*", Section: "genai", Reason: "finishReason",
		Kinds: []chaoshttp.ErrorKind{
			chaoshttp.KindInvalidRequest, chaoshttp.KindContextLength, chaoshttp.KindAuthentication, chaoshttp.KindQuota, chaoshttp.KindPermission,
			chaoshttp.KindNotFound, chaoshttp.KindTooLarge, chaoshttp.KindRateLimit, chaoshttp.KindServer, chaoshttp.KindTimeout, chaoshttp.KindOverloaded,
		},
		EventKind: chaoshttp.KindOverloaded,
		Provider:  drill.Provider,
		Whole:     whole, Streamed: streamed,
		Ask: func(ctx context.Context, answers http.RoundTripper, question string) (string, error) {
			client, err := newClient(ctx, chaoshttp.NewTransport(answers, nil))
			if err != nil {
				return "", err
			}
			return ask(ctx, client, question)
		},
		OwnError: func(err error) string {
			var api genai.APIError
			if !errors.As(err, &api) {
				return ""
			}
			return fmt.Sprintf("`genai.APIError` %d %s%s", api.Code, api.Status, retryDelay(api))
		},
	}
}

// retryDelay is what the details of an error say of a time to wait.
func retryDelay(api genai.APIError) string {
	for _, d := range api.Details {
		if delay, ok := d["retryDelay"]; ok {
			return fmt.Sprintf(", retryDelay %s", delay)
		}
	}
	return ""
}

func TestTable(t *testing.T)                  { driven().Table(t) }
func TestRecordedAndPlayed(t *testing.T)      { driven().RecordedAndPlayed(t) }
func TestARecordedMatrixReplays(t *testing.T) { driven().RecordedMatrix(t) }

func asked(calls bool) ([]*genai.Content, *genai.GenerateContentConfig) {
	history := []*genai.Content{genai.NewContentFromText("Where is order 1042?", genai.RoleUser)}
	if calls {
		return history, tools()
	}
	return history, nil
}

func see(s *drill.Seen, r *genai.GenerateContentResponse) {
	for _, c := range r.Candidates {
		s.Reason += string(c.FinishReason)
		if c.Content == nil {
			continue
		}
		for _, p := range c.Content.Parts {
			s.Text += p.Text
			if p.FunctionCall != nil {
				args, _ := json.Marshal(p.FunctionCall.Args)
				s.Calls = append(s.Calls, p.FunctionCall.Name+" "+string(args))
			}
		}
	}
}

func whole(ctx context.Context, answers http.RoundTripper, calls bool) (s drill.Seen) {
	client, err := newClient(ctx, chaoshttp.NewTransport(answers, nil))
	if s.Err = err; err != nil {
		return s
	}
	history, config := asked(calls)
	r, err := client.Models.GenerateContent(ctx, model, history, config)
	if s.Err = err; err == nil {
		see(&s, r)
	}
	return s
}

// streamed stops at the first error, as the client's users do.
func streamed(ctx context.Context, answers http.RoundTripper, calls bool) (s drill.Seen) {
	client, err := newClient(ctx, chaoshttp.NewTransport(answers, nil))
	if s.Err = err; err != nil {
		return s
	}
	history, config := asked(calls)
	for r, err := range client.Models.GenerateContentStream(ctx, model, history, config) {
		if s.Err = err; err != nil {
			break
		}
		see(&s, r)
	}
	return s
}
