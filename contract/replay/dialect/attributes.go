package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// The attributes in which conventions keep the content of calls. A span is asked for each in
// turn, and each member comes from the first that has it. The conventions are the semantic
// conventions of OpenTelemetry for generative AI, OpenInference (Arize Phoenix), OpenLLMetry
// (Traceloop), Google's ADK, the Vercel AI SDK, MLflow, and Strands, which has them in events:
// "event/attribute".
var (
	argsOf = []string{"gen_ai.tool.call.arguments", "tool.parameters", "tool_call.function.arguments", "input.value",
		"traceloop.entity.input", "gcp.vertex.agent.tool_call_args", "ai.toolCall.args", "mlflow.spanInputs",
		"tool_arguments",
		"gen_ai.tool.message/content"}
	resultOf = []string{"gen_ai.tool.call.result", "output.value", "traceloop.entity.output",
		"gcp.vertex.agent.tool_response", "ai.toolCall.result", "mlflow.spanOutputs", "tool_response",
		"gen_ai.choice/message"}
	inputOf = []string{"gen_ai.input.messages", "input.value", "traceloop.entity.input", "gcp.vertex.agent.llm_request",
		"ai.prompt.messages", "ai.prompt", "mlflow.spanInputs"}
	outputOf = []string{"gen_ai.output.messages", "output.value", "traceloop.entity.output",
		"gcp.vertex.agent.llm_response", "ai.response.text", "mlflow.spanOutputs"}
	// Messages: a list, or with a dot at the end one that is flattened into names with numbers.
	askedOf = []string{"gen_ai.input.messages", "gen_ai.client.inference.operation.details/gen_ai.input.messages",
		"llm.input_messages.", "gen_ai.prompt.", "gcp.vertex.agent.llm_request", "ai.prompt.messages"}
	toldOf = []string{"gen_ai.output.messages", "gen_ai.client.inference.operation.details/gen_ai.output.messages",
		"llm.output_messages.", "gen_ai.completion.", "gcp.vertex.agent.llm_response"}
)

func first(s *otlp.Span, keys []string) json.RawMessage {
	for _, key := range keys {
		if doc := unwrapped(s, key, attribute(s, key)); doc != nil {
			return doc
		}
	}
	return nil
}

func attribute(s *otlp.Span, key string) json.RawMessage {
	v := s.Attributes.Find(key)
	if event, name, of := strings.Cut(key, "/"); of {
		for i := range s.Events {
			if e := &s.Events[i]; v == nil && e.Name == event {
				v = e.Attributes.Find(name)
			}
		}
	}
	if v == nil {
		return nil
	}
	doc := v.JSON() // of a text that is JSON, that JSON
	if slices.Contains(hidden[:], string(doc)) {
		return nil
	}
	return doc
}

// unwrapped returns an attribute without what its convention puts around content; nil: it
// stands for content that was withheld.
func unwrapped(s *otlp.Span, key string, doc json.RawMessage) json.RawMessage {
	if doc == nil {
		return nil
	}
	m := objectOf(doc)
	switch key {
	case "tool.parameters": // the definition of them has the same name
		if m["$schema"] != nil || string(m["type"]) == `"object"` && m["properties"] != nil {
			return nil
		}
	case "traceloop.entity.input": // the arguments of a function of Python, or of a callback of LangChain
		switch {
		case m["kwargs"] == nil:
		case !empty(m["inputs"]):
			return content(m["inputs"])
		case m["input_str"] != nil:
			return content(m["input_str"])
		case len(m) == 2 && empty(m["args"]) && m["args"] != nil:
			return m["kwargs"]
		}
	case "traceloop.entity.output":
		if m["kwargs"] != nil && m["output"] != nil {
			return content(m["output"])
		}
		if m["kwargs"] != nil && m["outputs"] != nil {
			return content(m["outputs"])
		}
	case "gcp.vertex.agent.tool_call_args": // empty beside an empty answer: both are withheld
		if empty(doc) && empty(attribute(s, "gcp.vertex.agent.tool_response")) {
			return nil
		}
	case "gcp.vertex.agent.tool_response": // a call without an answer has a text in its place
		if empty(doc) || m["result"] != nil && content(m["result"]) == nil {
			return nil
		}
	case "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response":
		if empty(doc) {
			return nil
		}
	case "gen_ai.choice/message":
		return spoken(doc)
	}
	return doc
}

// messagesOf returns the messages of a span: of an attribute, else of its events, which are
// those that a choice is among or not.
func messagesOf(s *otlp.Span, keys []string, told bool) []json.RawMessage {
	for _, key := range keys {
		var list []json.RawMessage
		if strings.HasSuffix(key, ".") {
			list = unflattened(s, key)
		} else {
			list = messagesIn(first(s, []string{key}), maxWrappers)
		}
		if list != nil {
			return list
		}
	}
	if told {
		if list := vercelAnswer(s); list != nil {
			return list
		}
	}
	var list []json.RawMessage
	for i := range s.Events {
		if m := eventMessage(&s.Events[i], told); m != nil {
			list = append(list, m)
		}
	}
	return list
}

func vercelAnswer(s *otlp.Span) []json.RawMessage {
	message := map[string]any{"role": "assistant"}
	if text := s.Attributes.Text("ai.response.text"); text != "" {
		message["content"] = text
	}
	if calls := attribute(s, "ai.response.toolCalls"); !empty(calls) {
		message["tool_calls"] = calls
	}
	if len(message) == 1 {
		return nil
	}
	return []json.RawMessage{marshalled(message)}
}

// eventMessage returns the message of an event such as gen_ai.user.message, or of a choice;
// nil: it has none.
func eventMessage(e *otlp.Event, choice bool) json.RawMessage {
	role, is := strings.CutSuffix(strings.TrimPrefix(e.Name, "gen_ai."), ".message")
	if is == choice {
		return nil
	}
	if choice {
		if e.Name != "gen_ai.choice" {
			return nil
		}
		role = "assistant"
	}
	message := map[string]any{}
	if v := e.Attributes.Find("gen_ai.event.content"); v != nil {
		for name, value := range objectOf(v.JSON()) {
			message[name] = value
		}
	}
	for i := range e.Attributes {
		if a := &e.Attributes[i]; a.Key != "gen_ai.event.content" {
			message[a.Key] = a.Value.JSON()
		}
	}
	if inner, ok := message["message"].(json.RawMessage); ok && message["content"] == nil {
		if delete(message, "message"); objectOf(inner) == nil {
			message["content"] = inner
		}
		for name, value := range objectOf(inner) {
			message[name] = value
		}
	}
	if len(message) == 0 || message["content"] == nil && message["tool_calls"] == nil {
		return nil
	}
	if message["role"] == nil {
		message["role"] = role
	}
	return marshalled(message)
}

func marshalled(v any) json.RawMessage {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return doc
}

// unflattened returns a list that is flattened into attributes: prefix, number, then the path
// to a text in the element. nil: nothing is said in it.
func unflattened(s *otlp.Span, prefix string) (list []json.RawMessage) {
	root := make(map[string]any)
	said := false
	for i := range s.Attributes {
		a := &s.Attributes[i]
		rest, ok := strings.CutPrefix(a.Key, prefix)
		text := a.Value.Text()
		if !ok || text == "__REDACTED__" {
			continue
		}
		path := strings.Split(rest, ".")
		if n, err := strconv.Atoi(path[0]); err != nil || n < 0 || len(path) > 16 {
			continue
		}
		at := root
		for _, name := range path[:len(path)-1] {
			inner, is := at[name].(map[string]any)
			if !is {
				inner = make(map[string]any)
				at[name] = inner
			}
			at = inner
		}
		end := path[len(path)-1]
		at[end] = text
		said = said || end != "role" && end != "finish_reason"
	}
	if all, is := listed(root).([]any); is && said {
		for _, e := range all {
			list = append(list, marshalled(e))
		}
	}
	return list
}

// listed makes lists of the objects whose names are all numbers.
func listed(v any) any {
	m, is := v.(map[string]any)
	if !is {
		return v
	}
	var numbers []int
	for name := range m {
		m[name] = listed(m[name])
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) < len(m) || len(m) == 0 {
		return m
	}
	slices.Sort(numbers)
	list := make([]any, len(numbers))
	for i, n := range numbers {
		list[i] = m[strconv.Itoa(n)]
	}
	return list
}
