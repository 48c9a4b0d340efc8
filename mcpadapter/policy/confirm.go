package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/text"
)

// confirmTime is how long a user may take to answer a question.
const confirmTime = 2 * time.Minute

// questionID names our question among those of one call.
const questionID = "shakedown_confirm"

// confirm returns a question, if the client speaks a revision without sessions
// and can be asked; a refusal; or neither, if the call needs no confirmation or
// has it.
func (acc *access) confirm(ctx context.Context, req *mcp.CallToolRequest, args arguments) (mcp.Result, *Error) {
	what, needed := acc.dangerous(args)
	if !needed {
		return nil, nil
	}
	yes, given := args.confirmed()
	if yes {
		return nil, nil
	}
	if given || !canBeAsked(req) {
		return nil, acc.unconfirmed(what)
	}
	if newEra(req) {
		answer, ok := req.Params.InputResponses[questionID]
		if !ok {
			return acc.ask(req, what)
		}
		result, _ := answer.(*mcp.ElicitResult)
		refusal := acc.judge(result, what)
		acc.answered = refusal == nil
		return nil, refusal
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	result, err := req.Session.Elicit(ctx, acc.question(what))
	if err != nil {
		e := acc.unconfirmed(what)
		e.Hint = "the user could not be asked (" + err.Error() + "); " + e.Hint
		return nil, e
	}
	return nil, acc.judge(result, what)
}

// dangerous reports whether a confirmation rule applies to the call; what names
// the tool, and the argument that the rule is about.
func (acc *access) dangerous(args arguments) (what string, needed bool) {
	for _, rule := range acc.row.confirm {
		if rule.Field == "" {
			return "", true
		}
		if value, ok := args.loose(rule.Field); ok && mayHold(value, rule.Values) {
			return fmt.Sprintf(" for %s %s", rule.Field, text.Clip(string(value), 100)), true
		}
	}
	return "", false
}

func (acc *access) unconfirmed(what string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeConfirmationRequired,
		Detail: fmt.Sprintf("tool %s requires confirm=true%s", acc.tool, what),
		Hint:   `ask the user, then call again with the boolean "confirm": true`}
}

// judge reads the user's answer. Only an accepted form with the box ticked
// confirms.
func (acc *access) judge(answer *mcp.ElicitResult, what string) *Error {
	switch {
	case answer == nil:
		return acc.unconfirmed(what)
	case answer.Action == "accept" && answer.Content[confirmField] == true:
		return nil
	case answer.Action == "cancel":
		e := acc.unconfirmed(what)
		e.Hint = "the user closed the question without an answer; do not repeat the call unasked"
		return e
	}
	return &Error{Status: http.StatusBadRequest, Code: CodeDeclined,
		Detail: fmt.Sprintf("the user declined tool %s%s", acc.tool, what),
		Hint:   "do not repeat the call unless the user asks for it"}
}

// canBeAsked reports whether the client shows forms to its user. A client that
// declares elicitation without a kind does.
func canBeAsked(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	if req.Session == nil || c == nil || c.Elicitation == nil {
		return false
	}
	return c.Elicitation.Form != nil || c.Elicitation.URL == nil
}

// question returns the form that the user sees.
func (acc *access) question(what string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:            "form",
		Message:         fmt.Sprintf("Run %s%s? It cannot be undone.", acc.tool, what),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"Tick to run it."}},"required":["confirm"]}`),
	}
}

// ask returns the result that makes the client ask the question and call again.
func (acc *access) ask(req *mcp.CallToolRequest, what string) (mcp.Result, *Error) {
	res, err := fromWire(req, map[string]any{"inputRequests": mcp.InputRequestMap{questionID: acc.question(what)}},
		"input_required")
	if err != nil {
		return nil, acc.unconfirmed(what)
	}
	return res, nil
}

// withoutQuestion returns the answers to the tool's own questions.
func withoutQuestion(answers mcp.InputResponseMap) mcp.InputResponseMap {
	if _, ok := answers[questionID]; !ok {
		return answers
	}
	rest := maps.Clone(answers)
	delete(rest, questionID)
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// askAgain adds our question to those of a tool: the next round is a call of its
// own, which has to be confirmed too.
func (acc *access) askAgain(args arguments, res mcp.Result) mcp.Result {
	result, ok := res.(*mcp.CallToolResult)
	if !ok || result == nil || !acc.answered || result.InputRequests == nil {
		return res
	}
	what, _ := acc.dangerous(args)
	c := *result
	c.InputRequests = maps.Clone(c.InputRequests)
	c.InputRequests[questionID] = acc.question(what)
	return &c
}
