package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// gemini is Google's generateContent. IDs of calls are optional there.
type gemini struct{}

func (gemini) name() string { return "gemini" }

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

func (gemini) read(q *query) *problem {
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
	path, method, _ := cutLast(q.url.Path, ":")
	_, q.model, _ = cutLast(path, "/")
	q.stream = method == "streamGenerateContent"
	q.array = q.stream && q.url.Query().Get("alt") != "sse"
	if len(in.Contents) == 0 {
		return &problem{kind: noMessages}
	}
	if n := in.Config.CandidateCount; n != nil && *n != 1 {
		return &problem{kind: manyAnswers, name: "candidate_count", value: fmt.Sprint(*n)}
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
		if p := readContent(q, i, c); p != nil {
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
			if p := q.offer(i, j, Tool{Name: f.Name, Description: f.Description, Schema: schema}, false); p != nil {
				return p
			}
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// readContent adds one turn; results are messages of their own.
func readContent(q *query, at int, c geminiContent) *problem {
	said := Message{Role: roleUser}
	switch c.Role {
	case "model":
		said.Role = roleAssistant
	case "", roleUser, "function":
	default:
		return &problem{kind: badRole, at: at, name: c.Role}
	}
	if len(c.Parts) == 0 {
		return &problem{kind: noText, at: at}
	}
	pending := false
	for j, part := range c.Parts {
		call, result := part.Call, part.Result
		if call == nil {
			call = part.CallSnake
		}
		if result == nil {
			result = part.ResultSnake
		}
		switch {
		case call != nil:
			if len(call.Args) > 0 && !isObject(call.Args) {
				return &problem{kind: badArgs, at: at, part: j, value: string(call.Args)}
			}
			if call.ID == "" {
				call.ID = fmt.Sprintf("%s-%d-%d", call.Name, at, j)
			}
			said.Calls = append(said.Calls, Call{ID: call.ID, Name: call.Name, Args: compact(call.Args)})
			pending = true
		case result != nil:
			if pending {
				q.add(at, j, said)
				said, pending = Message{Role: said.Role}, false
			}
			q.add(at, j,
				Message{Role: roleTool, CallID: q.answered(result.ID, result.Name), Text: compact(result.Response)})
		case part.Thought:
			pending = true // without text
		default:
			said.Text, pending = said.Text+part.Text, true // pieces of a stream come back as parts
		}
	}
	if pending {
		q.add(at, 0, said)
	}
	return nil
}

func (gemini) refuse(p *problem) refusal {
	says := p.wordsOf(geminiSays)
	return refusal{status: says.status, doc: object{"error", object{"code", says.status, "message", says.text,
		"status", cmp.Or(says.code, "INVALID_ARGUMENT")}}}
}

func (gemini) whole(r *reply) any { return geminiChunk(r, geminiParts(r, []string{r.Text}), true) }

// geminiParts is the answer, with its text in the given pieces.
func geminiParts(r *reply, texts []string) (parts []object) {
	if r.Text != "" {
		for _, text := range texts {
			parts = append(parts, object{"text", text})
		}
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

func (gemini) stream(r *reply, s *stream) {
	var chunks []object
	parts := geminiParts(r, words(r.Text))
	for i, part := range parts {
		chunks = append(chunks, geminiChunk(r, []object{part}, i == len(parts)-1))
	}
	if !r.asked.array {
		for _, chunk := range chunks {
			s.event("", chunk)
		}
		return
	}
	s.kind = "application/json"
	before := "["
	for i, chunk := range chunks {
		after := ""
		if i == len(chunks)-1 {
			after = "]\n"
		}
		s.pieces = append(s.pieces, []byte(before+string(encode(chunk))+after))
		before = ",\r\n"
	}
}
