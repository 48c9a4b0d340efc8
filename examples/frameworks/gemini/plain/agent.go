// Package plain is an agent on Google's Go client for Gemini as the client's examples have it: a chat, which keeps the
// history, and a loop over function calls, which is the user's, as the client calls no functions by itself in Go.
// docs/frameworks.md shows what it does when its tools and its model fail.
package plain

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos"
)

// mostTurns ends a conversation that goes on and on.
const mostTurns = 20

func newChat(ctx context.Context, model http.RoundTripper, tools chaos.ToolRegistry) (*genai.Chat, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "none",
		HTTPOptions: genai.HTTPOptions{BaseURL: "https://gemini.example/"},
		HTTPClient:  &http.Client{Transport: model},
	})
	if err != nil {
		return nil, err
	}
	declared, err := adapt(ctx, tools)
	if err != nil {
		return nil, err
	}
	return client.Chats.Create(ctx, "gemini-3-pro", &genai.GenerateContentConfig{Tools: declared}, nil)
}

// A turn is what the model says.
type turn struct {
	text  string
	calls []*genai.FunctionCall
}

// ask asks one question; the answers are streamed or not.
func ask(ctx context.Context, model http.RoundTripper, tools chaos.ToolRegistry, question string, streamed bool) (string, error) {
	chat, err := newChat(ctx, model, tools)
	if err != nil {
		return "", err
	}
	send := whole
	if streamed {
		send = inPieces
	}
	parts := []genai.Part{{Text: question}}
	for range mostTurns {
		said, err := send(ctx, chat, parts)
		if err != nil || len(said.calls) == 0 {
			return said.text, err
		}
		parts = nil
		for _, call := range said.calls {
			parts = append(parts, genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: call.ID, Name: call.Name, Response: run(ctx, tools, call)}})
		}
	}
	return "", errors.New("too many turns")
}

func whole(ctx context.Context, chat *genai.Chat, parts []genai.Part) (turn, error) {
	r, err := chat.SendMessage(ctx, parts...)
	if err != nil {
		return turn{}, err
	}
	return turn{r.Text(), r.FunctionCalls()}, nil
}

func inPieces(ctx context.Context, chat *genai.Chat, parts []genai.Part) (t turn, err error) {
	for r, err := range chat.SendMessageStream(ctx, parts...) {
		if err != nil {
			return t, err
		}
		t.text += r.Text()
		t.calls = append(t.calls, r.FunctionCalls()...)
	}
	return t, nil
}

// run calls a tool. An error goes back to the model under the name that the client's documentation has for it.
func run(ctx context.Context, tools chaos.ToolRegistry, call *genai.FunctionCall) map[string]any {
	args, err := json.Marshal(call.Args)
	if err == nil {
		args, err = tools.CallTool(ctx, call.Name, args)
	}
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"output": json.RawMessage(args)}
}

// adapt declares the tools of a registry to the model.
func adapt(ctx context.Context, tools chaos.ToolRegistry) ([]*genai.Tool, error) {
	all, err := tools.Tools(ctx)
	if err != nil {
		return nil, err
	}
	declared := &genai.Tool{}
	for _, tool := range all {
		declared.FunctionDeclarations = append(declared.FunctionDeclarations, &genai.FunctionDeclaration{
			Name: tool.Name, Description: tool.Description, ParametersJsonSchema: tool.InputSchema})
	}
	return []*genai.Tool{declared}, nil
}
