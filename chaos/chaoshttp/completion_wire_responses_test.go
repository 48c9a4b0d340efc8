package chaoshttp_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// OpenAI's responses.

type outputItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []part `json:"content"`
}

type part struct{ Type, Text, Refusal string }

func outputOf(s said) []any {
	output := []any{}
	if s.text != "" {
		output = append(output, obj{"type": "message", "id": "m", "role": "assistant", "content": []any{obj{"type": "output_text", "text": s.text, "annotations": []any{}}}})
	}
	for _, c := range s.calls {
		output = append(output, obj{"type": "function_call", "id": "f", "call_id": c.id, "name": c.name, "arguments": c.args})
	}
	return output
}

func responseOf(s said) obj {
	return obj{"object": "response", "status": "completed", "incomplete_details": nil, "output": outputOf(s)}
}

func writeResponse(s said, _ []int) string { return object(responseOf(s)) }

type response struct {
	Status            string
	IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
	Output            []outputItem
}

func (r response) said() (s said) {
	for _, item := range r.Output {
		s.addItem(item)
	}
	switch {
	case r.Status == "incomplete":
		s.reason = map[string]string{"max_output_tokens": "length", "content_filter": "content_filter"}[r.IncompleteDetails.Reason]
	case len(s.calls) > 0:
		s.reason = "tool_calls"
	default:
		s.reason = "stop"
	}
	return s
}

func (s *said) addItem(item outputItem) {
	for _, p := range item.Content {
		s.text += p.Text
		s.refusal += p.Refusal
	}
	if item.Type == "function_call" {
		s.calls = append(s.calls, toolCall{item.CallID, item.Name, item.Arguments})
	}
}

func readResponse(t require.TestingT, body string) said { return decoded[response](t, body).said() }

func streamResponse(s said, sizes []int) string {
	var out strings.Builder
	send := func(kind string, v obj) {
		v["type"] = kind
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, object(v))
	}
	send("response.created", obj{"response": obj{"object": "response", "status": "in_progress", "output": []any{}}})
	n := 0
	if s.text != "" {
		at := func(v obj) obj { v["output_index"], v["content_index"] = n, 0; return v }
		send("response.output_item.added", obj{"output_index": n, "item": obj{"type": "message", "content": []any{}}})
		send("response.content_part.added", at(obj{"part": obj{"type": "output_text", "text": ""}}))
		for _, p := range split(s.text, sizes) {
			send("response.output_text.delta", at(obj{"delta": p}))
		}
		send("response.output_text.done", at(obj{"text": s.text}))
		send("response.content_part.done", at(obj{"part": obj{"type": "output_text", "text": s.text}}))
		send("response.output_item.done", obj{"output_index": n, "item": outputOf(s)[0]})
		n++
	}
	for _, c := range s.calls {
		send("response.output_item.added", obj{"output_index": n, "item": obj{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": ""}})
		for _, p := range split(c.args, sizes) {
			send("response.function_call_arguments.delta", obj{"output_index": n, "delta": p})
		}
		send("response.function_call_arguments.done", obj{"output_index": n, "arguments": c.args})
		send("response.output_item.done", obj{"output_index": n, "item": outputOf(s)[n]})
		n++
	}
	send("response.completed", obj{"response": responseOf(s)})
	return out.String()
}

// readResponseStream reads the stream in each of the ways in which it says
// everything, and holds them to each other.
func readResponseStream(t require.TestingT, body string) (s said) {
	var deltas, dones, items said
	for _, d := range data(body) {
		e := decoded[struct {
			Type, Delta, Text, Refusal, Arguments string
			OutputIndex                           int `json:"output_index"`
			Item                                  outputItem
			Response                              response
		}](t, d)
		require.Contains(t, body, "event: "+e.Type+"\n", "the type is said twice")
		switch e.Type {
		case "response.output_item.added":
			deltas.addItem(e.Item)
			dones.addItem(e.Item)
		case "response.output_text.delta":
			deltas.text += e.Delta
		case "response.refusal.delta":
			deltas.refusal += e.Delta
		case "response.function_call_arguments.delta":
			deltas.calls[len(deltas.calls)-1].args += e.Delta
		case "response.output_text.done":
			dones.text += e.Text
		case "response.refusal.done":
			dones.refusal += e.Refusal
		case "response.function_call_arguments.done":
			dones.calls[len(dones.calls)-1].args = e.Arguments
		case "response.output_item.done":
			items.addItem(e.Item)
		case "response.completed":
			require.Equal(t, "completed", e.Response.Status)
			s = e.Response.said()
		case "response.incomplete":
			require.Equal(t, "incomplete", e.Response.Status)
			s = e.Response.said()
		}
	}
	whole := s
	if whole.reason = ""; len(deltas.calls) > 0 || deltas.text+deltas.refusal != "" || whole.refusal == "" { // one that was added comes at the end alone
		require.Equal(t, whole, deltas)
		require.Equal(t, whole, dones)
		require.Equal(t, whole, items)
	}
	return s
}
