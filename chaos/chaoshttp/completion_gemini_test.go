package chaoshttp_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// Google's Gemini.

type geminiPart struct {
	Text         *string
	FunctionCall *struct {
		ID   string     `json:"id"`
		Name string     `json:"name"`
		Args jsonObject `json:"args"`
	}
}

// jsonObject is the text of an object. Clients have a map for it, and return an error for anything else.
type jsonObject string

func (o *jsonObject) UnmarshalJSON(doc []byte) error {
	*o = jsonObject(doc)
	return json.Unmarshal(doc, &map[string]any{})
}

type geminiAnswer struct {
	Candidates []struct {
		Content       struct{ Parts []geminiPart }
		FinishReason  string
		FinishMessage string
	}
	UsageMetadata *struct{ TotalTokenCount int }
}

// geminiParts are the parts of an answer, with a thought, which is none of its text.
func geminiParts(s said, sizes []int) (parts []any) {
	parts = append(parts, obj{"text": "Let me think.", "thought": true})
	for _, text := range split(s.text, sizes) {
		parts = append(parts, obj{"text": text})
	}
	for _, c := range s.calls {
		parts = append(parts, obj{"functionCall": obj{"id": c.id, "name": c.name, "args": json.RawMessage(c.args)}, "thoughtSignature": "c2ln"})
	}
	return parts
}

func geminiReason(reason string) string {
	return map[string]string{"length": "MAX_TOKENS", "content_filter": "SAFETY"}[reason]
}

func geminiChunk(parts []any, reason string) string {
	candidate := obj{"content": obj{"parts": parts, "role": "model"}, "index": 0}
	chunk := obj{"candidates": []any{candidate}, "modelVersion": "m", "responseId": "r"}
	if reason != "" {
		candidate["finishReason"] = "STOP"
		if word := geminiReason(reason); word != "" {
			candidate["finishReason"] = word
		}
		chunk["usageMetadata"] = obj{"totalTokenCount": 7}
	}
	return object(chunk)
}

func writeGemini(s said, _ []int) string {
	return geminiChunk(geminiParts(s, []int{1 << 20}), s.reason)
}

// streamGemini has the reason in the chunk of the last part, as the provider has.
func streamGemini(s said, sizes []int) string {
	var out strings.Builder
	parts := geminiParts(s, sizes)
	for i, part := range parts {
		reason := ""
		if i == len(parts)-1 {
			reason = s.reason
		}
		fmt.Fprintf(&out, "data: %s\n\n", geminiChunk([]any{part}, reason))
	}
	return out.String()
}

func (s *said) addGemini(t require.TestingT, a geminiAnswer) {
	require.Len(t, a.Candidates, 1)
	c := a.Candidates[0]
	for _, p := range c.Content.Parts {
		if p.Text != nil && *p.Text != "Let me think." {
			s.text += *p.Text
		}
		if f := p.FunctionCall; f != nil {
			s.calls = append(s.calls, toolCall{f.ID, f.Name, string(f.Args)})
		}
	}
	if c.FinishReason == "" {
		return
	}
	s.reason = map[string]string{"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter", "MALFORMED_FUNCTION_CALL": "malformed"}[c.FinishReason]
	require.NotEmpty(t, s.reason, c.FinishReason)
	require.Equal(t, s.reason == "malformed", c.FinishMessage != "")
	if s.reason == "stop" && len(s.calls) > 0 {
		s.reason = "tool_calls"
	}
}

func readGemini(t require.TestingT, body string) (s said) {
	s.addGemini(t, decoded[geminiAnswer](t, body))
	return s
}

func readGeminiStream(t require.TestingT, body string) (s said) {
	used := 0
	for _, d := range data(body) {
		a := decoded[geminiAnswer](t, d)
		require.Empty(t, s.reason, "nothing comes behind the finish")
		s.addGemini(t, a)
		if a.UsageMetadata != nil {
			used++
		}
	}
	require.Equal(t, 1, used, "the usage comes once")
	return s
}
