package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The provider answers with a tool call first, and with the text once it has the
// result of the tool.
const (
	answerText = "Order 1042 was shipped to Zoë on Monday."
	toolName   = "orders_status"
	toolArgs   = `{"order_id":1042}`
)

type object = map[string]any

// complete is POST /v1/messages, streamed or not.
func complete(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Stream   bool
		Messages []struct{ Content json.RawMessage }
		Tools    []any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, `{"type":"error","error":{"type":"invalid_request_error","message":"bad request"}}`, http.StatusBadRequest)
		return
	}
	last := in.Messages[len(in.Messages)-1].Content
	calls := len(in.Tools) > 0 && !strings.Contains(string(last), `"tool_result"`)
	if in.Stream {
		stream(w, calls)
		return
	}
	block, reason := object{"type": "text", "text": answerText}, "end_turn"
	if calls {
		block = object{"type": "tool_use", "id": "toolu_1", "name": toolName, "input": json.RawMessage(toolArgs)}
		reason = "tool_use"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(message([]any{block}, reason))
}

func message(content []any, reason any) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
		"stop_reason": reason, "stop_sequence": nil, "stop_details": nil, "usage": object{"input_tokens": 20, "output_tokens": 9},
	}
}

// stream sends the same in deltas of a word, or of a few characters of arguments.
func stream(w http.ResponseWriter, calls bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, e object) {
		e["type"] = kind
		doc, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, doc)
		_ = http.NewResponseController(w).Flush()
	}
	block, delta, name, parts, reason := object{"type": "text", "text": ""}, "text_delta", "text", strings.SplitAfter(answerText, " "), "end_turn"
	if calls {
		block, delta, name = object{"type": "tool_use", "id": "toolu_1", "name": toolName, "input": object{}}, "input_json_delta", "partial_json"
		parts, reason = []string{`{"order`, `_id":`, `1042}`}, "tool_use"
	}
	send("message_start", object{"message": message([]any{}, nil)})
	send("content_block_start", object{"index": 0, "content_block": block})
	for _, part := range parts {
		send("content_block_delta", object{"index": 0, "delta": object{"type": delta, name: part}})
	}
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil, "stop_details": nil}, "usage": object{"output_tokens": 9}})
	send("message_stop", object{})
}
