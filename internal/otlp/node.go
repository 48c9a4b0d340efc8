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

func (s *Span) kind() Kind {
	as := s.Attributes
	operation := as.Text("gen_ai.operation.name")
	switch {
	case operation == "execute_tool" || as.Text("gen_ai.tool.name") != "" || s.ListsTools():
		return Tool
	case operation == "create_agent" || operation == "invoke_agent" || operation == "invoke_workflow":
		return Agent
	case operation != "":
		return Model
	}
	switch as.Text("openinference.span.kind") {
	case "TOOL":
		return Tool
	case "AGENT":
		return Agent
	case "LLM", "EMBEDDING":
		return Model
	}
	switch as.Text("traceloop.span.kind") {
	case "tool":
		return Tool
	case "agent", "workflow":
		return Agent
	}
	if as.Text("ai.toolCall.name") != "" { // the Vercel AI SDK
		return Tool
	}
	switch strings.Trim(as.Text("mlflow.spanType"), `"`) {
	case "TOOL":
		return Tool
	case "AGENT":
		return Agent
	case "LLM", "CHAT_MODEL", "EMBEDDING":
		return Model
	}
	switch {
	case as.Text("gen_ai.request.model") != "":
		return Model
	case as.Text("http.request.method") != "" || as.Text("http.method") != "":
		return HTTP
	}
	return ""
}
