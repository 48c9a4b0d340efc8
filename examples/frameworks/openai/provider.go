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

// complete is POST /chat/completions, streamed or not.
func complete(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Stream   bool
		Messages []struct{ Role string }
		Tools    []any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, `{"error":{"message":"bad request","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	calls := len(in.Tools) > 0 && in.Messages[len(in.Messages)-1].Role != "tool"
	if in.Stream {
		stream(w, calls)
		return
	}
	message, reason := object{"role": "assistant", "content": answerText, "refusal": nil}, "stop"
	if calls {
		message["content"], reason = nil, "tool_calls"
		message["tool_calls"] = []any{object{"id": "call_1", "type": "function", "function": object{"name": toolName, "arguments": toolArgs}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   object{"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
	})
}

// stream sends the same in chunks of a word, or of a few characters of arguments.
func stream(w http.ResponseWriter, calls bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, reason any) {
		chunk, _ := json.Marshal(object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}},
		})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
		_ = http.NewResponseController(w).Flush()
	}
	call := func(c object) object { c["index"] = 0; return object{"tool_calls": []any{c}} }
	if calls {
		send(object{"role": "assistant", "content": nil}, nil)
		send(call(object{"id": "call_1", "type": "function", "function": object{"name": toolName, "arguments": ""}}), nil)
		for _, part := range []string{`{"order`, `_id":`, `1042}`} {
			send(call(object{"function": object{"arguments": part}}), nil)
		}
		send(object{}, "tool_calls")
	} else {
		send(object{"role": "assistant", "content": ""}, nil)
		for _, word := range strings.SplitAfter(answerText, " ") {
			send(object{"content": word}, nil)
		}
		send(object{}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
