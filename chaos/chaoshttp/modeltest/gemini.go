package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

type geminiContent struct {
	Role  string
	Parts []struct {
		Text        string
		Call        *geminiCall     `json:"functionCall"`
		CallSnake   *geminiCall     `json:"function_call"`
		Result      *geminiResponse `json:"functionResponse"`
		ResultSnake *geminiResponse `json:"function_response"`
		Thought     bool
	}
}

type geminiCall struct {
	ID, Name string
	Args     json.RawMessage
}

type geminiResponse struct {
	ID, Name string
	Response json.RawMessage
}

// A geminiTool is one element of the list of tools. Like everywhere in this API,
// members may be in camel case and in snake case.
type geminiTool struct {
	Functions      []geminiFunction `json:"functionDeclarations"`
	FunctionsSnake []geminiFunction `json:"function_declarations"`
}

type geminiFunction struct {
	Name, Description string
	Parameters        json.RawMessage
	Schema            json.RawMessage `json:"parametersJsonSchema"`
	SchemaSnake       json.RawMessage `json:"parameters_json_schema"`
}

func readGemini(q *query) *problem {
	var in struct {
		Contents    []geminiContent
		System      *geminiContent `json:"systemInstruction"`
		SystemSnake *geminiContent `json:"system_instruction"`
		Tools       []geminiTool
		Config      struct{ CandidateCount *int } `json:"generationConfig"`
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	place, method, _ := strings.Cut(path.Base(q.url.Path), ":")
	q.model, q.stream = place, method == "streamGenerateContent"
	if q.stream && q.url.Query().Get("alt") != "sse" {
		return wrong("alt", "%q; allowed: sse", q.url.Query().Get("alt"))
	}
	if len(in.Contents) == 0 {
		return wrong("contents", "missing or empty")
	}
	if n := in.Config.CandidateCount; n != nil && *n != 1 {
		return wrong("generationConfig.candidateCount", "%d; allowed: 1", *n)
	}
	for _, system := range []*geminiContent{in.System, in.SystemSnake} {
		if system != nil {
			var text string
			for _, part := range system.Parts {
				text += part.Text
			}
			q.instruct(text)
		}
	}
	for i, c := range in.Contents {
		if p := q.readContent(i, c); p != nil {
			return p
		}
	}
	for i, t := range in.Tools {
		for j, f := range append(t.Functions, t.FunctionsSnake...) {
			schema := f.Parameters
			for _, other := range []json.RawMessage{f.Schema, f.SchemaSnake} {
				if len(other) > 0 {
					schema = other
				}
			}
			q.offer(fmt.Sprintf("tools[%d].functionDeclarations[%d].parameters", i, j),
				Tool{Name: f.Name, Description: f.Description, Schema: schema}, false)
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
	if len(c.Parts) == 0 {
		return wrong(where+".parts", "missing or empty")
	}
	pending := false
	for j, part := range c.Parts {
		call, result := cmp.Or(part.Call, part.CallSnake), cmp.Or(part.Result, part.ResultSnake)
		switch {
		case call != nil:
			if len(call.Args) > 0 && !isObject(call.Args) {
				return wrong(fmt.Sprintf("%s.parts[%d].functionCall.args", where, j), "no object")
			}
			if call.ID == "" {
				call.ID = fmt.Sprintf("%s-%d-%d", call.Name, at, j)
			}
			said.Calls = append(said.Calls, Call{ID: call.ID, Name: call.Name, Args: compact(call.Args)})
			pending = true
		case result != nil:
			if pending {
				q.add(where, said)
				said, pending = Message{Role: said.Role}, false
			}
			q.add(where,
				Message{Role: roleTool, CallID: q.answered(result.ID, result.Name), Text: compact(result.Response)})
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
	status := "INVALID_ARGUMENT"
	if p.status == http.StatusNotFound {
		status = "NOT_FOUND"
	}
	return object{"error", object{"code", p.status, "message", p.String(), "status", status}}
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
