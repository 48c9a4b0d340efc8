package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/examples/frameworks/internal/drill"
)

// client is this one as the drill tests it.
func client() *drill.Client {
	return &drill.Client{
		API: chaoshttp.Anthropic, Target: "POST api.anthropic.example/*", Section: "anthropic-sdk-go", Reason: "stop_reason",
		Kinds: []chaoshttp.ErrorKind{
			chaoshttp.KindInvalidRequest, chaoshttp.KindContextLength, chaoshttp.KindContentFilter, chaoshttp.KindAuthentication, chaoshttp.KindQuota,
			chaoshttp.KindPermission, chaoshttp.KindNotFound, chaoshttp.KindTooLarge, chaoshttp.KindRateLimit, chaoshttp.KindServer, chaoshttp.KindTimeout,
			chaoshttp.KindOverloaded,
		},
		EventKind: chaoshttp.KindOverloaded,
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
			var api *anthropic.Error
			if !errors.As(err, &api) {
				return ""
			}
			return strings.TrimSpace(fmt.Sprintf("`*anthropic.Error` %d %s", api.StatusCode, api.Type()))
		},
	}
}

func TestTable(t *testing.T)                  { client().Table(t) }
func TestRecordedAndPlayed(t *testing.T)      { client().RecordedAndPlayed(t) }
func TestARecordedMatrixReplays(t *testing.T) { client().RecordedMatrix(t) }

func params(calls bool) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: model, MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Where is order 1042?"))},
	}
	if calls {
		p.Tools = tools()
	}
	return p
}

func whole(ctx context.Context, client anthropic.Client, calls bool) drill.Seen {
	m, err := client.Messages.New(ctx, params(calls))
	if err != nil {
		return drill.Seen{Err: err}
	}
	return seenMessage(m)
}

func seenMessage(m *anthropic.Message) (s drill.Seen) {
	s.Reason = string(m.StopReason)
	for _, block := range m.Content {
		s.Text += block.Text
		if block.Type == "tool_use" {
			s.Calls = append(s.Calls, block.Name+" "+string(block.Input))
		}
	}
	return s
}

// streamed gathers the message as the client's users do.
func streamed(ctx context.Context, client anthropic.Client, calls bool) drill.Seen {
	stream := client.Messages.NewStreaming(ctx, params(calls))
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			s := seenMessage(&m)
			s.Err = err
			return s
		}
	}
	s := seenMessage(&m)
	s.Err = stream.Err()
	return s
}
