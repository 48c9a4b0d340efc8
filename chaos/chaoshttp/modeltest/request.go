package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Request is one question to the model, in a form that all providers share.
type Request struct {
	// API is the wire form: "chat" and "responses" are OpenAI's, the others are
	// "anthropic", "gemini" and "ollama".
	API string
	// Model is the model's name, as the client gave it.
	Model string
	// Messages is the conversation, the system's instructions first. Assistant
	// messages that follow each other are one.
	Messages []Message
	// Tools are the functions that the client offers. Of the provider's own tools,
	// Anthropic's are there, without a schema; those of the others are left out.
	Tools []Tool
	// Stream reports whether the answer is streamed.
	Stream bool
	// Turn is 1 for the first answer of the conversation. It is one more than the
	// number of assistant messages, so a request that is sent again has the same turn.
	Turn int
	// Body is the request's body, for what the other fields leave out.
	Body json.RawMessage
}

// A Message is a part of the conversation.
type Message struct {
	// Role is "system" (OpenAI's developer too), "user", "assistant" or "tool".
	Role string
	// Text is the message's text or the tool's result. Texts of several parts are
	// joined by a line break, in Gemini by nothing; images and other parts are left out.
	Text string
	// Calls are the tool calls of an assistant.
	Calls []Call
	// CallID is the ID of the call that a tool's result answers.
	CallID string
}

// A Call is a tool call by the model.
type Call struct {
	// ID is the call's identifier. Empty in an answer: it is derived from the
	// request. Gemini and Ollama may leave it out in a request: then it is derived
	// from the call's place.
	ID string
	// Name is the name of the tool.
	Name string
	// Args is the JSON object of the arguments. Empty in an answer: {}.
	Args string
}

// A Tool is a function that the client offers.
type Tool struct {
	Name, Description string
	// Schema is the JSON Schema of the arguments; nil: none was given.
	Schema json.RawMessage
}

// An Answer is what the model says: a text, tool calls, or both.
type Answer struct {
	// After, in a [Script], must be contained in the newest messages: those behind
	// the last assistant message. Empty: anything may come before.
	After string
	// Text is the answer's text.
	Text string
	// Calls are the tool calls, made in parallel. The request must offer the tools.
	Calls []Call
	// InputTokens and OutputTokens are the usage. 0: a quarter of the characters of
	// the messages and of the answer, rounded up.
	InputTokens, OutputTokens int
}

// A Func answers requests. It is called concurrently if requests are. An error
// means that the test's model has no answer: see [Model.Err].
type Func func(ctx context.Context, r Request) (Answer, error)

// Script returns a function that gives the n-th answer on the n-th turn of a
// conversation. It keeps no state: a request that is sent again gets the same
// answer, and conversations at the same time do not disturb each other. It
// returns an error if the conversation has more turns than answers, or if an
// answer's After is not in the newest messages.
func Script(answers ...Answer) Func {
	answers = slices.Clone(answers)
	return func(_ context.Context, r Request) (Answer, error) {
		if r.Turn > len(answers) {
			return Answer{}, fmt.Errorf("the script has no answer for it, it ends after turn %d", len(answers))
		}
		a := answers[r.Turn-1]
		news := newest(r.Messages)
		has := func(m Message) bool { return strings.Contains(m.Text, a.After) }
		if a.After != "" && !slices.ContainsFunc(news, has) {
			return Answer{}, fmt.Errorf("the script expects %q in the newest messages, which are %s", a.After,
				describe(news))
		}
		return a, nil
	}
}

func newest(all []Message) []Message {
	for i, m := range slices.Backward(all) {
		if m.Role == roleAssistant {
			return all[i+1:]
		}
	}
	return all
}

func describe(messages []Message) string {
	var texts []string
	for _, m := range messages {
		text := []rune(m.Text)
		if len(text) > 200 {
			text = append(text[:200], '…')
		}
		texts = append(texts, fmt.Sprintf("%s %q", m.Role, string(text)))
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// check returns what is wrong with an answer to r, joined.
func (a Answer) check(r Request) error {
	var errs []error
	if a.Text == "" && len(a.Calls) == 0 {
		errs = append(errs,
			errors.New("the answer has neither text nor calls (chaoshttp.EmptyCompletion makes an empty one)"))
	}
	if a.InputTokens < 0 || a.OutputTokens < 0 {
		errs = append(errs,
			fmt.Errorf("InputTokens %d, OutputTokens %d; allowed: 0 or more", a.InputTokens, a.OutputTokens))
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	used := map[string]bool{}
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	for i, c := range a.Calls {
		if !slices.Contains(names, c.Name) {
			errs = append(errs, fmt.Errorf("Calls[%d].Name %q; allowed: a tool of the request (%q)", i, c.Name, names))
		}
		if c.Args != "" && !isObject([]byte(c.Args)) {
			errs = append(errs, fmt.Errorf("Calls[%d].Args %q; allowed: a JSON object", i, c.Args))
		}
		if c.ID != "" && used[c.ID] {
			errs = append(errs,
				fmt.Errorf("Calls[%d].ID %q; allowed: one that no other call of the conversation has", i, c.ID))
		}
		used[c.ID] = true
	}
	return errors.Join(errs...)
}

func isObject(doc []byte) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(doc, &o) == nil && o != nil
}
