package modeltest

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

type geminiContent struct {
	Role  string
	Parts []struct {
		Text    string
		Thought bool
		Call    *struct {
			ID, Name string
			Args     json.RawMessage
		} `json:"functionCall"`
		Response *struct {
			ID, Name string
			Response json.RawMessage
		} `json:"functionResponse"`
	}
}

type geminiFunction struct {
	Name, Description string
	Parameters        json.RawMessage
	Schema            json.RawMessage `json:"parametersJsonSchema"`
}

func readGemini(q *query) *problem {
	var in struct {
		Contents []geminiContent
		System   geminiContent `json:"systemInstruction"`
		Tools    []struct {
			Functions []geminiFunction `json:"functionDeclarations"`
		}
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	place, method, _ := strings.Cut(path.Base(q.url.Path), ":")
	q.model, q.stream = place, method == "streamGenerateContent"
	if len(in.Contents) == 0 {
		return wrong("contents", "missing or empty")
	}
	var system string
	for _, part := range in.System.Parts {
		system += part.Text
	}
	q.instruct(system)
	for i, c := range in.Contents {
		if p := q.readContent(i, c); p != nil {
			return p
		}
	}
	for i, t := range in.Tools {
		for j, f := range t.Functions {
			if f.Schema == nil {
				f.Schema = f.Parameters
			}
			q.offer(fmt.Sprintf("tools[%d].functionDeclarations[%d].parameters", i, j),
				Tool{f.Name, f.Description, f.Schema}, false)
		}
	}
	return nil
}

// readContent adds one turn; results are messages of their own.
func (q *query) readContent(at int, c geminiContent) *problem {
	where := fmt.Sprintf("contents[%d]", at)
	said := Message{Role: roleUser}
	switch c.Role {
	case "model":
		said.Role = roleAssistant
	case "", roleUser, "function":
	default:
		return wrong(where+".role", "%q; allowed: user, model", c.Role)
	}
	pending := false
	for j, part := range c.Parts {
		switch {
		case part.Call != nil:
			call := Call{ID: part.Call.ID, Name: part.Call.Name, Args: compact(part.Call.Args)}
			if call.ID == "" {
				call.ID = fmt.Sprintf("%s-%d-%d", call.Name, at, j)
			}
			said.Calls, pending = append(said.Calls, call), true
		case part.Response != nil:
			if pending {
				q.add(where, said)
				said, pending = Message{Role: said.Role}, false
			}
			q.add(where, Message{Role: roleTool, CallID: q.answered(part.Response.ID, part.Response.Name),
				Text: compact(part.Response.Response)})
		case part.Thought:
			pending = true // without text
		default:
			said.Text, pending = said.Text+part.Text, true // pieces of a stream come back as parts
		}
	}
	if pending {
		q.add(where, said)
	}
	return nil
}

func refuseGemini(p *problem) any {
	return object{"error", object{"code", p.status, "message", p.String(), "status", "INVALID_ARGUMENT"}}
}

func wholeGemini(r *reply) any {
	text := []string{r.Text}
	return geminiChunk(r, geminiParts(r, text[:min(1, len(r.Text))]), true)
}

func geminiParts(r *reply, texts []string) (parts []object) {
	for _, text := range texts {
		parts = append(parts, object{"text", text})
	}
	for _, c := range r.Calls {
		parts = append(parts,
			object{"functionCall", object{"id", c.ID, "name", c.Name, "args", json.RawMessage(c.Args)}})
	}
	return parts
}

// geminiChunk is an answer with some parts; the last has the reason and the usage.
func geminiChunk(r *reply, parts []object, last bool) object {
	candidate := object{"content", object{"parts", parts, "role", "model"}}
	chunk := object{}
	if last {
		candidate = append(candidate, "finishReason", "STOP") // with calls too
		chunk = object{"usageMetadata", object{
			"promptTokenCount", r.InputTokens, "candidatesTokenCount", r.OutputTokens,
			"totalTokenCount", r.InputTokens + r.OutputTokens,
		}}
	}
	chunk = append(object{"candidates", []object{append(candidate, "index", 0)}}, chunk...)
	return append(chunk, "modelVersion", r.model, "responseId", r.id("resp-"))
}

func streamGemini(r *reply, s *stream) {
	parts := geminiParts(r, words(r.Text))
	for i, part := range parts {
		s.event("", geminiChunk(r, []object{part}, i == len(parts)-1))
	}
}
