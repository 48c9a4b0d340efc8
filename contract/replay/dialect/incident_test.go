package dialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A step is a call of the incident that every dialect tells.
type step struct {
	id         string
	tool       string
	args       string
	result     string // what it returned, or what an error in words says
	failure    string
	begin, end time.Duration
}

// An incident is one run of an agent.
type incident struct {
	trace, prompt, answer string
	steps                 []step
	end                   time.Duration
	cut
}

// A cut is what the record of an incident lacks.
type cut struct {
	withheld  bool // content was not captured
	truncated bool // results were cut off
	orphans   bool // the step that encloses all is not there
	twice     bool // all was exported twice
	inWords   bool // failures are results that tell of them
	unended   bool // the last call has no end
}

var began = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// refundTwice is the incident: the time-out came after the work.
func refundTwice() incident {
	return incident{
		trace: "4bf92f3577b34da6a3ce929d0e0e4736", prompt: "Refund order 1042", answer: "Refunded.", end: 32 * time.Second,
		steps: []step{
			{"c1", "lookup_order", `{"order":1042}`, `{"state":"delivered","total":19.9}`, "", 200 * time.Millisecond, 300 * time.Millisecond},
			{"c2", "refund", `{"order":1042}`, "", "i/o timeout", 1200 * time.Millisecond, 31200 * time.Millisecond},
			{"c3", "refund", `{"order":1042}`, `{"id":"R-2"}`, "", 31500 * time.Millisecond, 31512 * time.Millisecond},
		},
	}
}

// inParallel asks for two orders at once, and for a third afterwards.
func inParallel() incident {
	in := refundTwice()
	in.steps = []step{
		{"c1", "lookup_order", `{"order":1}`, `{"total":1}`, "", 100 * time.Millisecond, 400 * time.Millisecond},
		{"c2", "lookup_order", `{"order":2}`, `{"total":2}`, "", 200 * time.Millisecond, 300 * time.Millisecond},
		{"c3", "lookup_order", `{"order":3}`, `{"total":3}`, "", 400 * time.Millisecond, 500 * time.Millisecond},
	}
	return in
}

// said is the answer of a step, or the error in words, cut off if need be.
func (in *incident) said(s step) string {
	text := s.result
	if s.failure != "" {
		text = "Error: " + s.failure
	}
	if in.truncated && s.failure == "" {
		text = text[:len(text)-2]
	}
	return text
}

// fails reports whether a step has an error that is no result.
func (in *incident) fails(s step) bool { return s.failure != "" && !in.inWords }

// ended reports whether the end of a step was recorded.
func (in *incident) ended(i int) bool { return !in.unended || i < len(in.steps)-1 }

// A teller writes an incident in a dialect.
type teller struct {
	name, dialect string
	tell          func(*incident) string
}

func tellers() []teller {
	return []teller{
		{"gen_ai", "otlp", genAI}, {"OpenInference", "otlp", openInference}, {"Traceloop", "otlp", traceloop}, {"ADK", "otlp", adk},
		{"langfuse", "langfuse", langfuse}, {"langsmith", "langsmith", langsmith}, {"openai-agents", "openai-agents", openAIAgents},
		{"chat", "chat", chat}, {"responses", "responses", responses}, {"anthropic", "anthropic", anthropic},
		{"mcp", "mcp", mcp}, {"mcp-proxy", "mcp-proxy", mcpProxy},
	}
}

type object = map[string]any

// text is a value as JSON.
func text(v any) string {
	doc, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(doc) + "\n"
}

// lines are values as JSON lines, each twice if the record has everything twice.
func (in *incident) lines(values ...any) string {
	var b strings.Builder
	for _, v := range values {
		doc, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(append(doc, '\n'))
		if in.twice {
			b.Write(append(doc, '\n'))
		}
	}
	return b.String()
}

// parsed is a text of JSON as a value; other text stays one.
func parsed(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return v
}

// attributes are pairs of key and text, without those whose text is empty.
func attributes(pairs ...string) []any {
	list := []any{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, object{"key": pairs[i], "value": object{"stringValue": pairs[i+1]}})
		}
	}
	return list
}

// spans writes the incident in OTLP, with the attributes of root, model and tools.
func (in *incident) spans(scope string, root, model []any, tool func(s step, args, result string) []any) string {
	nano := func(d time.Duration) string { return strconv.FormatInt(began.Add(d).UnixNano(), 10) }
	span := func(id, parent int, name string, from, to time.Duration, attrs []any) object {
		s := object{"traceId": in.trace, "spanId": fmt.Sprintf("%016x", id), "name": name, "kind": 1,
			"startTimeUnixNano": nano(from), "endTimeUnixNano": nano(to), "attributes": attrs, "status": object{}}
		if parent > 0 {
			s["parentSpanId"] = fmt.Sprintf("%016x", parent)
		}
		return s
	}
	var list []any
	if !in.orphans {
		list = append(list, span(1, 0, "invoke_agent desk", 0, in.end, root))
	}
	list = append(list, span(2, 1, "chat small-1", 0, 100*time.Millisecond, model))
	for i, s := range in.steps {
		args, result := s.args, in.said(s)
		if in.withheld {
			args, result = "", ""
		}
		if in.fails(s) || !in.ended(i) {
			result = ""
		}
		one := span(10+i, 1, "execute_tool "+s.tool, s.begin, s.end, tool(s, args, result))
		if in.fails(s) {
			one["status"] = object{"code": 2, "message": "TimeoutError: " + s.failure}
			one["events"] = []any{object{"name": "exception", "attributes": attributes("exception.type", "TimeoutError", "exception.message", s.failure)}}
		}
		if !in.ended(i) {
			delete(one, "endTimeUnixNano")
		}
		list = append(list, one)
	}
	if in.twice {
		list = append(list, list...)
	}
	return text(object{"resourceSpans": []any{object{"resource": object{"attributes": attributes("service.name", "desk")},
		"scopeSpans": []any{object{"scope": object{"name": scope}, "spans": list}}}}})
}

// content is a text unless content was withheld.
func (in *incident) content(s string) string {
	if in.withheld {
		return ""
	}
	return s
}

func genAI(in *incident) string {
	messages := func(role, kind, content string) string {
		return in.content(text([]any{object{"role": role, "parts": []any{object{"type": kind, "content": content}}}}))
	}
	return in.spans("example",
		attributes("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "desk",
			"gen_ai.input.messages", messages("user", "text", in.prompt), "gen_ai.output.messages", messages("assistant", "text", in.answer)),
		attributes("gen_ai.operation.name", "chat", "gen_ai.request.model", "small-1",
			"gen_ai.input.messages", messages("user", "text", in.prompt), "gen_ai.output.messages", messages("assistant", "text", in.answer)),
		func(s step, args, result string) []any {
			return attributes("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", s.tool, "gen_ai.tool.call.id", s.id,
				"gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", result)
		})
}

func openInference(in *incident) string {
	shown := func(s string) string {
		if in.withheld {
			return "__REDACTED__"
		}
		return s
	}
	return in.spans("openinference.instrumentation.example",
		attributes("openinference.span.kind", "AGENT", "input.value", shown(in.prompt), "output.value", shown(in.answer)),
		attributes("openinference.span.kind", "LLM", "llm.model_name", "small-1",
			"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", shown(in.prompt),
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", shown(in.answer)),
		func(s step, args, result string) []any {
			if in.withheld {
				args, result = "__REDACTED__", "__REDACTED__"
			}
			return attributes("openinference.span.kind", "TOOL", "tool.name", s.tool,
				"tool.parameters", `{"type":"object","properties":{"order":{"type":"integer"}}}`,
				"input.value", args, "input.mime_type", "application/json", "output.value", result)
		})
}

func traceloop(in *incident) string {
	wrapped := func(s string) string {
		if s == "" || in.withheld {
			return ""
		}
		return text(object{"args": []any{}, "kwargs": parsed(s)})
	}
	return in.spans("opentelemetry.instrumentation.example",
		attributes("traceloop.span.kind", "workflow", "traceloop.entity.name", "desk",
			"traceloop.entity.input", wrapped(text(object{"question": in.prompt})), "traceloop.entity.output", in.content(in.answer)),
		attributes("llm.request.type", "chat", "gen_ai.request.model", "small-1", "gen_ai.prompt.0.role", "user",
			"gen_ai.prompt.0.content", in.content(in.prompt), "gen_ai.completion.0.role", "assistant",
			"gen_ai.completion.0.content", in.content(in.answer)),
		func(s step, args, result string) []any {
			return attributes("traceloop.span.kind", "tool", "traceloop.entity.name", s.tool,
				"traceloop.entity.input", wrapped(args), "traceloop.entity.output", result)
		})
}

func adk(in *incident) string {
	contents := func(role, said string) object {
		return object{"role": role, "parts": []any{object{"text": said}}}
	}
	return in.spans("gcp.vertex.agent", attributes("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "desk"),
		attributes("gen_ai.system", "gcp.vertex.agent", "gen_ai.request.model", "small-1",
			"gcp.vertex.agent.llm_request", in.content(text(object{"model": "small-1", "contents": []any{contents("user", in.prompt)}})),
			"gcp.vertex.agent.llm_response", in.content(text(object{"content": contents("model", in.answer)}))),
		func(s step, args, result string) []any {
			if result == "" && args != "" {
				result = `{"result": "<not specified>"}`
			}
			if in.withheld {
				args, result = "{}", "{}"
			}
			return attributes("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", s.tool, "gen_ai.tool.call.id", s.id,
				"gcp.vertex.agent.llm_request", "{}", "gcp.vertex.agent.llm_response", "{}",
				"gcp.vertex.agent.tool_call_args", args, "gcp.vertex.agent.tool_response", result)
		})
}

func stamp(d time.Duration) string { return began.Add(d).Format("2006-01-02T15:04:05.000Z") }

// or is v unless content was withheld, where it is what a vendor writes for that.
func (in *incident) or(instead, v any) any {
	if in.withheld {
		return instead
	}
	return v
}

func langfuse(in *incident) string {
	parent := "root"
	list := []any{object{"id": "m1", "traceId": in.trace, "parentObservationId": parent, "type": "GENERATION", "name": "chat", "model": "small-1",
		"startTime": stamp(0), "endTime": stamp(100 * time.Millisecond), "level": "DEFAULT",
		"input": in.or(nil, []any{object{"role": "user", "content": in.prompt}}), "output": in.or(nil, object{"role": "assistant", "content": in.answer})}}
	if !in.orphans {
		list = append(list, object{"id": "root", "traceId": in.trace, "type": "AGENT", "name": "desk", "startTime": stamp(0), "endTime": stamp(in.end), "level": "DEFAULT"})
	}
	for i, s := range in.steps {
		o := object{"id": s.id, "traceId": in.trace, "parentObservationId": parent, "type": "TOOL", "name": s.tool, "level": "DEFAULT",
			"startTime": stamp(s.begin), "endTime": stamp(s.end), "input": in.or(nil, parsed(s.args)), "output": in.or(nil, parsed(in.said(s)))}
		if in.fails(s) {
			o["level"], o["statusMessage"], o["output"] = "ERROR", s.failure, nil
		}
		if !in.ended(i) {
			o["endTime"], o["output"] = nil, nil
		}
		list = append(list, o)
	}
	if in.twice {
		list = append(list, list...)
	}
	return text(object{"id": in.trace, "timestamp": stamp(0), "name": "desk", "input": in.or(nil, in.prompt), "output": in.or(nil, in.answer), "observations": list})
}

func langsmith(in *incident) string {
	none := object{}
	children := []any{object{"id": "m1", "trace_id": in.trace, "parent_run_id": "root", "run_type": "llm", "name": "ChatSmall",
		"start_time": stamp(0), "end_time": stamp(100 * time.Millisecond), "extra": object{"metadata": object{"ls_model_name": "small-1"}},
		"inputs":  in.or(none, object{"messages": []any{object{"role": "user", "content": in.prompt}}}),
		"outputs": in.or(none, object{"messages": []any{object{"role": "assistant", "content": in.answer}}})}}
	for i, s := range in.steps {
		run := object{"id": s.id, "trace_id": in.trace, "parent_run_id": "root", "run_type": "tool", "name": s.tool,
			"start_time": strings.TrimSuffix(stamp(s.begin), "Z"), "end_time": strings.TrimSuffix(stamp(s.end), "Z"),
			"inputs": in.or(none, object{"input": s.args}), "outputs": in.or(none, object{"output": object{"type": "tool", "content": in.said(s)}})}
		if in.fails(s) {
			run["error"], run["outputs"] = "TimeoutError('"+s.failure+"')Traceback (most recent call last):\n  File \"desk.py\", line 1\nTimeoutError: "+s.failure, nil
		}
		if !in.ended(i) {
			run["end_time"], run["outputs"] = nil, nil
		}
		children = append(children, run)
	}
	root := object{"id": "root", "trace_id": in.trace, "run_type": "chain", "name": "desk", "start_time": stamp(0), "end_time": stamp(in.end),
		"inputs": in.or(none, object{"input": in.prompt}), "outputs": in.or(none, object{"output": in.answer})}
	if !in.orphans && !in.twice {
		root["child_runs"] = children
		return text([]any{root})
	}
	if !in.orphans {
		children = append(children, root)
	}
	return in.lines(children...)
}

func openAIAgents(in *incident) string {
	item := func(id, parent string, from, to time.Duration, data object) object {
		return object{"object": "trace.span", "id": id, "trace_id": in.trace, "parent_id": parent, "started_at": stamp(from), "ended_at": stamp(to), "span_data": data, "error": nil}
	}
	list := []any{object{"object": "trace", "id": in.trace, "workflow_name": "desk"},
		item("m1", "root", 0, 100*time.Millisecond, object{"type": "generation", "model": "small-1",
			"input":  in.or(nil, []any{object{"role": "user", "content": in.prompt}}),
			"output": in.or(nil, []any{object{"role": "assistant", "content": in.answer}})})}
	if !in.orphans {
		root := item("root", "", 0, in.end, object{"type": "agent", "name": "desk"})
		root["parent_id"] = nil
		list = append(list, root)
	}
	for i, s := range in.steps {
		one := item(s.id, "root", s.begin, s.end, object{"type": "function", "name": s.tool, "input": in.or(nil, s.args), "output": in.or(nil, in.said(s))})
		if in.fails(s) {
			one["error"] = object{"message": "Error running tool", "data": object{"tool_name": s.tool, "error": s.failure}}
		}
		if !in.ended(i) {
			one["ended_at"] = nil
			one["span_data"].(object)["output"] = nil
		}
		list = append(list, one)
	}
	if in.twice {
		list = append(list, list...)
	}
	return text(object{"data": list})
}

func chat(in *incident) string {
	messages := []any{object{"role": "system", "content": "Be brief."}, object{"role": "user", "content": in.prompt}}
	var logs []any
	for i, s := range in.steps {
		logs = append(logs, object{"messages": slices.Clone(messages)})
		messages = append(messages, object{"role": "assistant", "content": nil, "tool_calls": []any{
			object{"id": s.id, "type": "function", "function": object{"name": s.tool, "arguments": in.or(nil, s.args)}}}})
		if in.ended(i) {
			messages = append(messages, object{"role": "tool", "tool_call_id": s.id, "content": in.or(nil, in.said(s))})
		}
	}
	messages = append(messages, object{"role": "assistant", "content": in.answer})
	if in.twice { // a log of requests has each message again
		return in.lines(append(logs, object{"messages": messages})...)
	}
	return text(object{"messages": messages})
}

func responses(in *incident) string {
	items := []any{object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": in.prompt}}}}
	for i, s := range in.steps {
		items = append(items, object{"type": "function_call", "call_id": s.id, "name": s.tool, "arguments": in.or(nil, s.args)})
		if in.ended(i) {
			items = append(items, object{"type": "function_call_output", "call_id": s.id, "output": in.or(nil, in.said(s))})
		}
	}
	items = append(items, object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": in.answer}}})
	if in.twice {
		return in.lines(object{"input": items[:3]}, object{"input": items})
	}
	slices.Reverse(items) // as the API lists them
	return text(object{"object": "list", "data": items})
}

func anthropic(in *incident) string {
	messages := []any{object{"role": "user", "content": in.prompt}}
	for i, s := range in.steps {
		messages = append(messages, object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": s.id, "name": s.tool, "input": in.or(nil, parsed(s.args))}}})
		var content any = []any{object{"type": "text", "text": in.said(s)}}
		if in.fails(s) {
			content = s.failure
		} else if in.withheld {
			content = "__REDACTED__"
		}
		if in.ended(i) {
			messages = append(messages, object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": s.id,
				"is_error": in.fails(s), "content": content}}})
		}
	}
	messages = append(messages, object{"role": "assistant", "content": []any{object{"type": "text", "text": in.answer}}})
	if in.twice {
		return in.lines(object{"messages": messages[:3]}, object{"messages": messages})
	}
	return text(object{"messages": messages})
}

// An mcpEvent is a line and when it was written.
type mcpEvent struct {
	at   time.Duration
	line object
}

func mcp(in *incident) string {
	events := []mcpEvent{{0, object{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": object{}}}}
	for i, s := range in.steps {
		params := object{"name": s.tool, "arguments": parsed(s.args)}
		events = append(events, mcpEvent{s.begin, object{"jsonrpc": "2.0", "id": i + 1, "method": "tools/call", "params": params}})
		said := in.said(s)
		if in.fails(s) {
			said = s.failure
		}
		result := object{"content": []any{object{"type": "text", "text": said}}, "isError": in.fails(s)}
		if in.ended(i) {
			events = append(events, mcpEvent{s.end, object{"jsonrpc": "2.0", "id": i + 1, "result": result}})
		}
	}
	slices.SortStableFunc(events, func(a, b mcpEvent) int { return int(a.at - b.at) })
	var all []any
	for _, e := range events {
		all = append(all, object{"timestamp": stamp(e.at), "message": e.line})
	}
	return in.lines(all...)
}

func mcpProxy(in *incident) string {
	all := []any{object{"t": 0.0, "kind": "session_start", "tool": nil, "detail": object{"started_at": stamp(0)}}}
	var events []mcpEvent
	for i, s := range in.steps {
		events = append(events, mcpEvent{s.begin, object{"t": s.begin.Seconds(), "kind": "tool_call", "tool": s.tool,
			"detail": object{"id": i, "args_chars": len(s.args), "args_hash": fmt.Sprintf("%x", len(s.args)*1000+len(s.tool))}}})
		end := object{"t": s.end.Seconds(), "kind": "tool_result", "tool": s.tool, "detail": object{"id": i, "ok": true, "chars": len(s.result)}}
		if in.fails(s) {
			end["kind"], end["detail"] = "fault", object{"id": i, "type": s.failure, "mode": "after_call"}
		}
		if in.ended(i) {
			events = append(events, mcpEvent{s.end, end})
		}
	}
	slices.SortStableFunc(events, func(a, b mcpEvent) int { return int(a.at - b.at) })
	for _, e := range events {
		all = append(all, e.line)
	}
	return in.lines(all...)
}
