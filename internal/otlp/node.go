package otlp

import (
	"cmp"
	"strings"
)

// A Kind is what a span is a call of.
type Kind string

// The kinds. "" is any other span.
const (
	Tool  Kind = "tool"
	Agent Kind = "agent"
	Model Kind = "model"
	HTTP  Kind = "http"
	Step  Kind = "step" // a plan, a retrieval, work on a memory: the calls of models in it have spans of their own
)

// Node returns the name and the kind of the node that a span calls: by the semantic
// conventions of OpenTelemetry for generative AI and MCP, else by those of
// OpenInference, then Traceloop, then by those of OpenTelemetry for HTTP. Without a
// name of its own a node has the span's.
func (s *Span) Node() (name string, kind Kind) {
	as := s.Attributes
	named := func(keys ...string) string {
		name := strings.Trim(cmp.Or(as.First(keys...), s.Name), `"`) // MLflow writes JSON
		for _, operation := range [...]string{"execute_tool ", "tools/call ", "ai.toolCall "} {
			name = strings.TrimPrefix(name, operation)
		}
		return name
	}
	switch kind = s.kind(); kind {
	case Tool:
		if s.ListsTools() && as.Text("gen_ai.tool.name") == "" {
			return listTools, Tool
		}
		return named("gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name",
			"mlflow.spanFunctionName"), Tool
	case Agent:
		return named("gen_ai.agent.name", "agent.name", "traceloop.entity.name"), Agent
	case Model:
		return named("gen_ai.request.model", "llm.model_name", "embedding.model_name", "gen_ai.response.model"), Model
	case Step:
		return cmp.Or(as.Text("gen_ai.data_source.id"), as.Text("gen_ai.operation.name")), Step
	case HTTP:
		if s.Kind == KindClient {
			return named("server.address", "net.peer.name"), HTTP
		}
	}
	return s.Name, kind
}

// listTools is the method of MCP that asks a server for its tools: no call of a tool.
const listTools = "tools/list"

// ListsTools reports whether a span asks an MCP server which tools it has.
func (s *Span) ListsTools() bool { return s.Attributes.Text("mcp.method.name") == listTools }

// conventions tell kinds by attributes, in the order in which they are asked.
var conventions = []struct {
	attribute string
	kinds     map[string]Kind // by its value
	other     Kind            // of any other value
}{
	{"gen_ai.operation.name", map[string]Kind{"execute_tool": Tool, "create_agent": Agent, "invoke_agent": Agent,
		"invoke_workflow": Agent, "plan": Step, "retrieval": Step, "search_memory": Step, "create_memory": Step,
		"update_memory": Step, "upsert_memory": Step, "delete_memory": Step, "create_memory_store": Step,
		"delete_memory_store": Step}, Model},
	{"openinference.span.kind", map[string]Kind{"TOOL": Tool, "AGENT": Agent, "LLM": Model, "EMBEDDING": Model}, ""},
	{"traceloop.span.kind", map[string]Kind{"tool": Tool, "agent": Agent, "workflow": Agent}, ""},
	{"ai.toolCall.name", nil, Tool}, // the Vercel AI SDK
	{"mlflow.spanType", map[string]Kind{"TOOL": Tool, "AGENT": Agent, "LLM": Model, "CHAT_MODEL": Model,
		"EMBEDDING": Model}, ""},
	{"gen_ai.request.model", nil, Model},
	{"http.request.method", nil, HTTP},
	{"http.method", nil, HTTP},
}

func (s *Span) kind() Kind {
	if s.Attributes.Text("gen_ai.tool.name") != "" || s.ListsTools() {
		return Tool
	}
	for _, c := range conventions {
		value := strings.Trim(s.Attributes.Text(c.attribute), `"`) // MLflow writes JSON
		if value == "" {
			continue
		}
		if kind := cmp.Or(c.kinds[value], c.other); kind != "" {
			return kind
		}
	}
	return ""
}
