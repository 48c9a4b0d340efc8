package chaoshttp

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// The faults of this file change what a model says: completions of OpenAI's
// chat/completions and responses, and of Anthropic's messages, streamed or not.
// One value serves all of them. A body that is none of these passes as it is,
// and the event of the call says so.

// EmptyCompletion removes everything from a completion: no text, no tool call,
// a normal end.
func EmptyCompletion() chaos.Fault { return emptyCompletionRow.Of(catalog.None{}) }

var emptyCompletionRow = completionRow(catalog.Row{
	Kind: "empty_completion", Doc: "The model says nothing.", Go: "chaoshttp.EmptyCompletion()",
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, _ catalog.None) completion.Editor { return completion.Empty() })

type keptText struct {
	Keep int `json:"keep" bounds:"min=0" allowed:"a number of characters of 0 or more" doc:"characters that come"`
}

// CutCompletion ends a completion as at its token limit, after keep characters,
// at least 0, of text and tool arguments together: finish_reason "length",
// stop_reason "max_tokens". A shorter one is not changed.
func CutCompletion(keep int) chaos.Fault { return cutCompletionRow.Of(keptText{keep}) }

var cutCompletionRow = completionRow(catalog.Row{
	Kind: "cut_completion", Doc: "The completion ends at the limit of its tokens.",
	Go: "chaoshttp.CutCompletion(keep)", Example: `{"keep":12}`,
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, p keptText) completion.Editor { return completion.Cut(p.Keep) })

// FilterCompletion ends a completion as the provider's filter does, after keep
// characters, at least 0: finish_reason "content_filter", stop_reason
// "refusal". A shorter one is not changed.
func FilterCompletion(keep int) chaos.Fault { return filterCompletionRow.Of(keptText{keep}) }

var filterCompletionRow = completionRow(catalog.Row{
	Kind: "filtered_completion", Doc: "The provider's filter ends the completion.",
	Go: "chaoshttp.FilterCompletion(keep)", Example: `{"keep":12}`,
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, p keptText) completion.Editor { return completion.Filter(p.Keep) })

type refusalWords struct {
	Words string `json:"words,omitempty" doc:"what it says; left out: the usual words"`
}

// RefuseCompletion makes a model refuse, in the given words; "" is a usual
// refusal. OpenAI has a member of its own for refusals, which is used;
// Anthropic's stop_reason is "refusal".
func RefuseCompletion(words string) chaos.Fault { return refuseCompletionRow.Of(refusalWords{words}) }

var refuseCompletionRow = completionRow(catalog.Row{
	Kind: "refused_completion", Doc: "The model refuses.", Go: "chaoshttp.RefuseCompletion(words)",
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, p refusalWords) completion.Editor { return completion.Refuse(p.Words) })

// GarbleCompletion makes gibberish of a model's text: every letter, digit and
// sign becomes another, drawn from the call's coordinates.
func GarbleCompletion() chaos.Fault { return garbleCompletionRow.Of(catalog.None{}) }

var garbleCompletionRow = completionRow(catalog.Row{
	Kind: "garbled_completion", Doc: "The model talks gibberish.", Go: "chaoshttp.GarbleCompletion()",
	Class: chaos.ClassValue,
}, func(c chaos.Call, _ catalog.None) completion.Editor { return completion.Garble(c) })

// MalformToolCall removes the last character of a tool call's arguments, so
// that they are no JSON. In a message of Anthropic's that is not streamed,
// arguments must be a value, so they become a string.
func MalformToolCall() chaos.Fault { return malformToolCallRow.Of(catalog.None{}) }

var malformToolCallRow = completionRow(catalog.Row{
	Kind: "malformed_tool_call", Doc: "A tool call's arguments are not JSON.", Go: "chaoshttp.MalformToolCall()",
	Class: chaos.ClassProtocol,
}, func(_ chaos.Call, _ catalog.None) completion.Editor { return completion.MalformCalls() })

// StripToolCalls removes all tool calls from a completion, which ends normally
// without them: the model announces a call and does not make it.
func StripToolCalls() chaos.Fault { return stripToolCallsRow.Of(catalog.None{}) }

var stripToolCallsRow = completionRow(catalog.Row{
	Kind: "stripped_tool_call", Doc: "The completion lacks its tool calls.", Go: "chaoshttp.StripToolCalls()",
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, _ catalog.None) completion.Editor { return completion.StripCalls() })

type toolName struct {
	Name string `json:"name,omitempty" doc:"of the tool that is called; left out: made from the real one"`
}

// HallucinateToolCall makes the first tool call name a tool that does not
// exist; if name is empty, it is made from the real one.
func HallucinateToolCall(name string) chaos.Fault { return hallucinateToolCallRow.Of(toolName{name}) }

var hallucinateToolCallRow = completionRow(catalog.Row{
	Kind: "hallucinated_tool_call", Doc: "A tool call names a tool that does not exist.",
	Go:    "chaoshttp.HallucinateToolCall(name)",
	Class: chaos.ClassValue,
}, func(c chaos.Call, p toolName) completion.Editor { return completion.RenameCall(c, p.Name) })

type argumentName struct {
	Name string `json:"name,omitempty" doc:"of the argument; left out: a drawn one"`
}

// WrongArgument gives one argument of each tool call another value of the same
// type, close to the right one, as a mistake would be. If name is empty, the
// argument is drawn from the call's coordinates.
func WrongArgument(name string) chaos.Fault { return wrongArgumentRow.Of(argumentName{name}) }

var wrongArgumentRow = completionRow(catalog.Row{
	Kind: "wrong_argument", Doc: "A tool call has a wrong argument.", Go: "chaoshttp.WrongArgument(name)",
	Class: chaos.ClassValue,
}, func(c chaos.Call, p argumentName) completion.Editor { return completion.WrongArgument(c, p.Name) })

// MissingArgument removes one argument of each tool call. If name is empty, it
// is drawn from the call's coordinates.
func MissingArgument(name string) chaos.Fault { return missingArgumentRow.Of(argumentName{name}) }

var missingArgumentRow = completionRow(catalog.Row{
	Kind: "missing_argument", Doc: "A tool call lacks an argument.", Go: "chaoshttp.MissingArgument(name)",
	Class: chaos.ClassOmission,
}, func(c chaos.Call, p argumentName) completion.Editor { return completion.MissingArgument(c, p.Name) })

// A Drift is a way in which a model's answers change from one version to the next.
type Drift string

// The drifts.
const (
	DriftKeys      Drift = "keys"      // an answer in JSON names a member differently
	DriftFormat    Drift = "format"    // JSON comes in a Markdown fence, and other text in JSON
	DriftVerbosity Drift = "verbosity" // words before and behind
	DriftTone      Drift = "tone"      // the same, in ill humour
)

type driftParams struct {
	Drift Drift `json:"drift" bounds:"enum=keys|format|verbosity|tone"`
}

// DriftCompletion makes a model answer in another style.
func DriftCompletion(d Drift) chaos.Fault { return driftCompletionRow.Of(driftParams{d}) }

var driftCompletionRow = completionRow(catalog.Row{
	Kind: "drifted_completion", Doc: "The model answers in another style.",
	Go: "chaoshttp.DriftCompletion(d)", Example: `{"drift":"format"}`,
	Class: chaos.ClassValue,
}, func(c chaos.Call, p driftParams) completion.Editor {
	switch p.Drift {
	case DriftKeys:
		return completion.RenameKey(c)
	case DriftFormat:
		return completion.Reformat()
	case DriftVerbosity:
		return completion.Verbose(c)
	}
	return completion.Rude(c)
})

// completionRow completes the row of a fault that changes a completion; nothing
// shows that it did. make makes an editor for each choice of an answer.
func completionRow[P any](r catalog.Row, make func(chaos.Call, P) completion.Editor) *catalog.Inject[P] {
	r.Layer, r.Visibility = chaos.LayerLLM, chaos.Implicit
	r.Persistence, r.Effect = chaos.Transient, chaos.EffectDone
	return changeRow(r, func(ctx context.Context, c chaos.Call, p P, r Response) Response {
		return edited(ctx, r, func(i int) completion.Editor { return make(c.Sub(i), p) })
	})
}

// maxCompletion bounds the completion that is held to be edited as a whole.
const maxCompletion = 8 << 20

// notUnderstood is the note for a body that passes unchanged.
const notUnderstood = "the body is no chat completion, message or response that is understood"

const nothingChanged = "the completion has nothing that this fault changes"

// edited puts an editor in front of a response, if that may be a completion.
func edited(ctx context.Context, r Response, fresh func(i int) completion.Editor) Response {
	problem := encodedAs(r)
	switch {
	case problem == "" && isStream(r.Header):
		return scripted(ctx, r, completionScript(fresh))
	case problem == "" && !isJSON(r.Header):
		problem = "the response is neither JSON nor an event stream: its content type is " +
			r.Header.Get("Content-Type")
	}
	if problem != "" {
		chaos.Note(ctx, problem)
		return r
	}
	return revise(ctx, r, maxCompletion, tooLong, func(ctx context.Context, body []byte) (revision, error) {
		out, changes, ok := completion.Edit(body, fresh)
		switch {
		case !ok:
			chaos.Note(ctx, notUnderstood)
		case len(changes) == 0:
			chaos.Note(ctx, nothingChanged)
		}
		return revision{out, changes}, nil
	})
}

// completionScript is the script that edits a completion in a stream.
func completionScript(fresh func(i int) completion.Editor) script {
	stream := completion.NewStream(fresh)
	return script{
		event: func(n int, e sse.Event) (st step) {
			st.out, st.changes = stream.Event(n, e)
			return st
		},
		end: func(n int) (st step) {
			st.out, st.changes = stream.Rest(n)
			switch {
			case !stream.Understood():
				st.note = notUnderstood
			case !stream.Changed():
				st.note = nothingChanged
			}
			return st
		},
	}
}

const tooLong = "the body is too long to be edited"

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// A Part is the part of a completion that [SpoilCompletion] changes.
type Part string

// The parts.
const (
	PartContent   Part = "content"       // what the model says
	PartArguments Part = "toolArguments" // the arguments of its tool calls
)

// A Spoil is what [SpoilCompletion] does to a part. The six are the fault types
// of AgentChaos (ASE 2026).
type Spoil string

// The spoils.
const (
	SpoilError    Spoil = "error"    // an error message stands in its place
	SpoilTimeout  Spoil = "timeout"  // the message of a time-out does
	SpoilEmpty    Spoil = "empty"    // nothing is left: "" or {}
	SpoilTruncate Spoil = "truncate" // its end is missing, and nothing says so
	SpoilCorrupt  Spoil = "corrupt"  // gibberish
	SpoilSchema   Spoil = "schema"   // members have other names; a text that is no JSON is put into some
)

type spoilParams struct {
	Part  Part  `json:"part" bounds:"enum=content|toolArguments"`
	Spoil Spoil `json:"spoil" bounds:"enum=error|timeout|empty|truncate|corrupt|schema"`
}

// SpoilCompletion changes one part of a completion, which otherwise ends as it
// would: unlike [CutCompletion] and [EmptyCompletion] it leaves the reason
// alone.
func SpoilCompletion(p Part, s Spoil) chaos.Fault { return spoilCompletionRow.Of(spoilParams{p, s}) }

var spoilCompletionRow = completionRow(catalog.Row{
	Kind: "spoiled_completion", Doc: "One part of the completion is spoiled.",
	Go: "chaoshttp.SpoilCompletion(part, spoil)", Example: `{"part":"content","spoil":"truncate"}`,
	Class: chaos.ClassValue,
}, func(c chaos.Call, p spoilParams) completion.Editor { return p.editor(c) })

// Coordinates has the class of what is done.
func (p spoilParams) Coordinates(d *chaos.Description) {
	switch p.Spoil {
	case SpoilEmpty, SpoilTruncate:
		d.Class = chaos.ClassOmission
	case SpoilSchema:
		d.Class = chaos.ClassProtocol
	}
}

// The messages in the place of what a model should have said.
const (
	errorText   = "Internal server error"
	timeoutText = "Request timed out"
)

func (p spoilParams) editor(c chaos.Call) completion.Editor {
	if p.Part == PartArguments {
		return p.ofArguments(c)
	}
	switch p.Spoil {
	case SpoilError:
		return completion.Replace(errorText)
	case SpoilTimeout:
		return completion.Replace(timeoutText)
	case SpoilEmpty:
		return completion.Replace("")
	case SpoilTruncate:
		return completion.Truncate(c)
	case SpoilCorrupt:
		return completion.Garble(c)
	}
	return completion.Reshape(c)
}

func (p spoilParams) ofArguments(c chaos.Call) completion.Editor {
	switch p.Spoil {
	case SpoilError:
		return completion.ReplaceArguments(errorText)
	case SpoilTimeout:
		return completion.ReplaceArguments(timeoutText)
	case SpoilEmpty:
		return completion.EmptyArguments()
	case SpoilTruncate:
		return completion.HalveArguments()
	case SpoilCorrupt:
		return completion.GarbleArguments(c)
	}
	return completion.RenameArguments(c)
}
