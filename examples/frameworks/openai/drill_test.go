package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/drill"
)

// client is this one as the drill tests it.
func client() *drill.Client {
	return &drill.Client{
		API: chaoshttp.OpenAI, Target: "POST api.openai.example/*", Section: "openai-go", Reason: "finish_reason",
		Kinds: []chaoshttp.ErrorKind{
			chaoshttp.KindInvalidRequest, chaoshttp.KindContextLength, chaoshttp.KindContentFilter, chaoshttp.KindAuthentication, chaoshttp.KindQuota,
			chaoshttp.KindPermission, chaoshttp.KindNotFound, chaoshttp.KindRateLimit, chaoshttp.KindServer, chaoshttp.KindOverloaded,
		},
		EventKind: chaoshttp.KindServer,
		Provider:  newProvider,
		Whole: func(ctx context.Context, answers http.RoundTripper, tools bool) drill.Seen {
			return whole(ctx, newClient(answers), tools)
		},
		Streamed: func(ctx context.Context, answers http.RoundTripper, tools bool) drill.Seen {
			return streamed(ctx, newClient(answers), tools)
		},
		Ask: func(ctx context.Context, answers http.RoundTripper, question string) (string, error) {
			return ask(ctx, newClient(answers), question)
		},
		OwnError: func(err error) string {
			var api *openai.Error
			if !errors.As(err, &api) {
				return ""
			}
			return strings.TrimSpace(fmt.Sprintf("`*openai.Error` %d %s", api.StatusCode, api.Code))
		},
	}
}

func TestTable(t *testing.T)                  { client().Table(t) }
func TestRecordedAndPlayed(t *testing.T)      { client().RecordedAndPlayed(t) }
func TestARecordedMatrixReplays(t *testing.T) { client().RecordedMatrix(t) }

func params(calls bool) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Where is order 1042?")},
	}
	if calls {
		p.Tools = tools()
	}
	return p
}

func whole(ctx context.Context, client openai.Client, calls bool) (s drill.Seen) {
	c, err := client.Chat.Completions.New(ctx, params(calls))
	if s.Err = err; err != nil || len(c.Choices) == 0 {
		return s
	}
	m := c.Choices[0].Message
	s.Text, s.Refusal, s.Reason = m.Content, m.Refusal, c.Choices[0].FinishReason
	for _, call := range m.ToolCalls {
		s.Calls = append(s.Calls, call.Function.Name+" "+call.Function.Arguments)
	}
	return s
}

func streamed(ctx context.Context, client openai.Client, calls bool) (s drill.Seen) {
	stream := client.Chat.Completions.NewStreaming(ctx, params(calls))
	defer stream.Close()
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			s.Text += choice.Delta.Content
			s.Refusal += choice.Delta.Refusal
			for _, call := range choice.Delta.ToolCalls {
				if call.Function.Name != "" {
					s.Calls = append(s.Calls, call.Function.Name+" ")
				}
				s.Calls[len(s.Calls)-1] += call.Function.Arguments
			}
			if choice.FinishReason != "" {
				s.Reason = choice.FinishReason
			}
		}
	}
	s.Err = stream.Err()
	return s
}
