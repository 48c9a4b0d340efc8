package chaoshttp

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// The faults of this file change what a model says: completions of OpenAI's
// chat/completions and responses, and of Anthropic's messages, streamed or not.
// One value serves all of them. A body that is none of these passes as it is,
// and the event of the call says so.

// EmptyCompletion removes everything from a completion: no text, no tool call,
// a normal end.
func EmptyCompletion() chaos.Fault {
	return completionFault{plain{"empty_completion", chaos.ClassOmission, func(chaos.Call) editor { return &emptied{} }}}
}

// CutCompletion ends a completion as at its token limit, after keep characters,
// at least 0, of text and tool arguments together: finish_reason "length",
// stop_reason "max_tokens". A shorter one is not changed.
func CutCompletion(keep int) chaos.Fault {
	return completionFault{cutText{"cut_completion", keep, reasonLength}}
}

// FilterCompletion ends a completion as the provider's filter does, after keep
// characters, at least 0: finish_reason "content_filter", stop_reason
// "refusal". A shorter one is not changed.
func FilterCompletion(keep int) chaos.Fault {
	return completionFault{cutText{"filtered_completion", keep, reasonFilter}}
}

type cutText struct {
	kind   string
	keep   int
	reason string
}

func (f cutText) editor(chaos.Call) editor { return &cutter{left: f.keep, reason: f.reason} }

func (f cutText) describe() chaos.Description {
	return param.With(chaos.Description{Kind: f.kind, Class: chaos.ClassOmission}, struct {
		Keep int `json:"keep"`
	}{f.keep})
}

func (f cutText) check(c *param.Check) {
	c.That(f.keep >= 0, "keep", f.keep, "a number of characters of 0 or more")
}

// RefuseCompletion makes a model refuse, in the given words; "" is a usual
// refusal. OpenAI has a member of its own for refusals, which is used;
// Anthropic's stop_reason is "refusal".
func RefuseCompletion(words string) chaos.Fault { return completionFault{refuse{words}} }

type refuse struct{ words string }

func (f refuse) editor(chaos.Call) editor {
	if f.words == "" {
		return &refuser{words: "I'm sorry, but I can't help with that request."}
	}
	return &refuser{words: f.words}
}

func (f refuse) describe() chaos.Description {
	return param.With(chaos.Description{Kind: "refused_completion", Class: chaos.ClassOmission}, struct {
		Words string `json:"words,omitempty"`
	}{f.words})
}

func (f refuse) check(*param.Check) {}

// GarbleCompletion makes gibberish of a model's text: every letter, digit and
// sign becomes another, drawn from the call's coordinates.
func GarbleCompletion() chaos.Fault {
	return completionFault{plain{"garbled_completion", chaos.ClassValue, func(c chaos.Call) editor { return &garbler{call: c, text: true} }}}
}

// MalformToolCall removes the last character of a tool call's arguments, so
// that they are no JSON. In a message of Anthropic's that is not streamed,
// arguments must be a value, so they become a string.
func MalformToolCall() chaos.Fault {
	return completionFault{plain{"malformed_tool_call", chaos.ClassProtocol, func(chaos.Call) editor { return &unclosed{} }}}
}

// StripToolCalls removes all tool calls from a completion, which ends normally
// without them: the model announces a call and does not make it.
func StripToolCalls() chaos.Fault {
	return completionFault{plain{"stripped_tool_call", chaos.ClassOmission, func(chaos.Call) editor { return &stripper{} }}}
}

// HallucinateToolCall makes the first tool call name a tool that does not
// exist; if name is empty, it is made from the real one.
func HallucinateToolCall(name string) chaos.Fault { return completionFault{hallucinate{name}} }

type hallucinate struct{ name string }

func (f hallucinate) editor(c chaos.Call) editor { return &renamer{call: c, name: f.name} }

func (f hallucinate) describe() chaos.Description {
	return param.With(chaos.Description{Kind: "hallucinated_tool_call", Class: chaos.ClassValue}, struct {
		Name string `json:"name,omitempty"`
	}{f.name})
}

func (f hallucinate) check(*param.Check) {}

// WrongArgument gives one argument of each tool call another value of the same
// type, close to the right one, as a mistake would be. If name is empty, the
// argument is drawn from the call's coordinates.
func WrongArgument(name string) chaos.Fault {
	return completionFault{argument{"wrong_argument", chaos.ClassValue, name}}
}

// MissingArgument removes one argument of each tool call. If name is empty, it
// is drawn from the call's coordinates.
func MissingArgument(name string) chaos.Fault {
	return completionFault{argument{"missing_argument", chaos.ClassOmission, name}}
}

type argument struct {
	kind  string
	class chaos.Class
	name  string
}

func (f argument) editor(c chaos.Call) editor {
	if f.kind == "missing_argument" {
		return &arguments{change: func(args string) string { return withoutMember(c, args, f.name) }}
	}
	return &arguments{change: func(args string) string { return withWrongMember(c, args, f.name) }}
}

func (f argument) describe() chaos.Description {
	return param.With(chaos.Description{Kind: f.kind, Class: f.class}, struct {
		Name string `json:"name,omitempty"`
	}{f.name})
}

func (f argument) check(*param.Check) {}

// A Drift is a way in which a model's answers change from one version to the next.
type Drift string

// The drifts.
const (
	DriftKeys      Drift = "keys"      // an answer in JSON names a member differently
	DriftFormat    Drift = "format"    // JSON comes in a Markdown fence, and other text in JSON
	DriftVerbosity Drift = "verbosity" // words before and behind
	DriftTone      Drift = "tone"      // the same, in ill humour
)

// DriftCompletion makes a model answer in another style.
func DriftCompletion(d Drift) chaos.Fault { return completionFault{drift{d}} }

type drift struct{ of Drift }

func (f drift) editor(c chaos.Call) editor { return newDrifter(c, f.of) }

func (f drift) describe() chaos.Description {
	return param.With(chaos.Description{Kind: "drifted_completion", Class: chaos.ClassValue}, struct {
		Drift Drift `json:"drift"`
	}{f.of})
}

func (f drift) check(c *param.Check) {
	switch f.of {
	case DriftKeys, DriftFormat, DriftVerbosity, DriftTone:
	default:
		c.That(false, "drift", fmt.Sprintf("%q", string(f.of)), "keys, format, verbosity, tone")
	}
}
