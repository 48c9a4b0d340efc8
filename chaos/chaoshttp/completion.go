package chaoshttp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/sse"
)

// The faults of this file change what a model says: completions of OpenAI's
// chat/completions and responses, of Anthropic's messages, of Gemini, and of Ollama's
// chats and completions, streamed or not. One value serves all of them. A body that is
// none of these passes as it is, and the event of the call says so.

type (
	editor = completion.Editor
	piece  = completion.Piece
)

// EmptyCompletion removes everything from a completion: no text, no tool call,
// a normal end.
func EmptyCompletion() chaos.Fault { return emptyCompletionRow.Of(catalog.None{}) }

var emptyCompletionRow = completionRow(catalog.Row{
	Kind: "empty_completion", Doc: "The model says nothing.", Go: "chaoshttp.EmptyCompletion()",
	Class: chaos.ClassOmission,
}, func(chaos.Call, catalog.None) editor {
	return func(p *piece) {
		switch p.Kind {
		case completion.Text:
			p.Text = ""
		case completion.Call:
			p.Drop = true
		case completion.Finish:
			p.Text = completion.Stopped
		}
	}
})

// CutCompletion ends a completion as at its token limit, after keep characters,
// at least 0, of text and tool arguments together: finish_reason "length",
// stop_reason "max_tokens", finishReason "MAX_TOKENS". A shorter one is not changed.
func CutCompletion(keep int) chaos.Fault { return cutCompletionRow.Of(keptText{keep}) }

var cutCompletionRow = keepRow(catalog.Row{
	Kind: "cut_completion", Doc: "The completion ends at the limit of its tokens.",
	Go: "chaoshttp.CutCompletion(keep)",
}, completion.TooLong)

// FilterCompletion ends a completion as the provider's filter does, after keep
// characters, at least 0: finish_reason "content_filter", stop_reason
// "refusal", finishReason "SAFETY". Ollama has no word for it, and gets OpenAI's. A
// shorter one is not changed.
func FilterCompletion(keep int) chaos.Fault { return filterCompletionRow.Of(keptText{keep}) }

var filterCompletionRow = keepRow(catalog.Row{
	Kind: "filtered_completion", Doc: "The provider's filter ends the completion.",
	Go: "chaoshttp.FilterCompletion(keep)",
}, completion.Filtered)

type keptText struct {
	Keep int `json:"keep" bounds:"min=0" allowed:"a number of characters of 0 or more" doc:"characters that come"`
}

func keepRow(r catalog.Row, reason string) *catalog.Inject[keptText] {
	r.Example, r.Class = `{"keep":12}`, chaos.ClassOmission
	return completionRow(r, func(_ chaos.Call, kept keptText) editor {
		left := kept.Keep
		return func(p *piece) {
			switch p.Kind {
			case completion.Text, completion.Args:
				p.Text, left = first(p.Text, left)
			case completion.Call:
				p.Drop = left == 0
			case completion.Finish:
				if left == 0 {
					p.Text = reason
				}
			}
		}
	})
}

// first is the text up to its n-th character; left is how many of n remain.
func first(s string, n int) (head string, left int) {
	for i := range s {
		if n == 0 {
			return s[:i], 0
		}
		n--
	}
	return s, n
}

type refusalWords struct {
	Words string `json:"words,omitempty" doc:"what it says; left out: the usual words"`
}

// RefuseCompletion makes a model refuse, in the given words; "" is a usual
// refusal. OpenAI has a member of its own for refusals, which is used;
// Anthropic's stop_reason is "refusal". With Gemini and Ollama it is a text.
func RefuseCompletion(words string) chaos.Fault { return refuseCompletionRow.Of(refusalWords{words}) }

var refuseCompletionRow = completionRow(catalog.Row{
	Kind: "refused_completion", Doc: "The model refuses.", Go: "chaoshttp.RefuseCompletion(words)",
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, refusal refusalWords) editor {
	words, said := cmp.Or(refusal.Words, "I'm sorry, but I can't help with that request."), false
	return func(p *piece) {
		switch {
		case p.Kind == completion.Text && p.Text != "":
			if p.Text = ""; !said {
				p.Text, p.Refusal, said = words, true, true
			}
		case p.Kind == completion.Call:
			p.Drop = true
		case p.Kind == completion.Finish:
			if p.Text = completion.Refused; !said {
				p.More = words
			}
		}
	}
})

// GarbleCompletion makes gibberish of a model's text: every letter, digit and
// sign becomes another, drawn from the call's coordinates.
func GarbleCompletion() chaos.Fault { return garbleCompletionRow.Of(catalog.None{}) }

var garbleCompletionRow = completionRow(catalog.Row{
	Kind: "garbled_completion", Doc: "The model talks gibberish.", Go: "chaoshttp.GarbleCompletion()",
	Class: chaos.ClassValue,
}, func(c chaos.Call, _ catalog.None) editor { return garble(c, completion.Text) })

// The gibberish has no digits and no quotes, so that no JSON comes of JSON, and
// drawGarble is the salt of its draws: ASCII for "garble".
const (
	gibberish  = "bcdfghjklmnpqrstvwxz#%&~^@|<>"
	drawGarble = 0x676172626c65
)

func garble(c chaos.Call, kind completion.Kind) editor {
	seen := uint64(0) // characters so far
	other := func(r rune) rune {
		seen++
		if unicode.IsSpace(r) {
			return r
		}
		return rune(gibberish[int(c.Draw(drawGarble+seen)*float64(len(gibberish)))])
	}
	return func(p *piece) {
		if p.Kind == kind {
			p.Text = strings.Map(other, p.Text)
		}
	}
}

// MalformToolCall removes the last character of a tool call's arguments, so
// that they are no JSON. In a message of Anthropic's that is not streamed,
// arguments must be a value, so they become a string. Gemini and Ollama can only say
// objects: with Gemini the call is missing, and the finishReason is
// "MALFORMED_FUNCTION_CALL"; with Ollama a text stands in its place.
func MalformToolCall() chaos.Fault { return malformToolCallRow.Of(catalog.None{}) }

var malformToolCallRow = completionRow(catalog.Row{
	Kind: "malformed_tool_call", Doc: "A tool call's arguments are not JSON.", Go: "chaoshttp.MalformToolCall()",
	Class: chaos.ClassProtocol,
}, func(chaos.Call, catalog.None) editor {
	return eachCall(func(args string) string {
		args = strings.TrimRightFunc(args, unicode.IsSpace)
		_, size := utf8.DecodeLastRuneInString(args)
		return args[:len(args)-size]
	})
})

// eachCall changes the arguments of each call once they are complete.
func eachCall(change func(args string) string) editor {
	held := ""
	return func(p *piece) {
		switch p.Kind {
		case completion.Args:
			held += p.Text
			p.Text, p.Late = "", true
		case completion.CallEnd:
			if held != "" {
				p.More = change(held)
			}
			p.Was, held = held, ""
		}
	}
}

// StripToolCalls removes all tool calls from a completion, which ends normally
// without them: the model announces a call and does not make it.
func StripToolCalls() chaos.Fault { return stripToolCallsRow.Of(catalog.None{}) }

var stripToolCallsRow = completionRow(catalog.Row{
	Kind: "stripped_tool_call", Doc: "The completion lacks its tool calls.", Go: "chaoshttp.StripToolCalls()",
	Class: chaos.ClassOmission,
}, func(chaos.Call, catalog.None) editor {
	stripped := false
	return func(p *piece) {
		switch {
		case p.Kind == completion.Call:
			p.Drop, stripped = true, true
		case p.Kind == completion.Finish && stripped:
			p.Text = completion.Stopped
		}
	}
})

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
}, func(c chaos.Call, tool toolName) editor {
	done := false
	return func(p *piece) {
		if p.Kind != completion.Call || done {
			return
		}
		if done = true; tool.Name == "" {
			p.Text = pick(c, drawName, "fetch_", "lookup_", "execute_", "advanced_") + p.Text
			return
		}
		p.Text = tool.Name
	}
})

// drawName is the salt of the draw of a name: ASCII for "toolname".
const drawName = 0x746f6f6c6e616d65

func pick(c chaos.Call, salt uint64, of ...string) string {
	return of[int(c.Draw(salt)*float64(len(of)))]
}

type argumentName struct {
	Name string `json:"name,omitempty" doc:"of the argument; left out: a drawn one"`
}

// WrongArgument gives one argument of each tool call another value of the same
// type, close to the right one, as a mistake would be. If name is empty, the
// argument is drawn from the call's coordinates.
func WrongArgument(name string) chaos.Fault { return wrongArgumentRow.Of(argumentName{name}) }

var wrongArgumentRow = argumentRow(catalog.Row{
	Kind: "wrong_argument", Doc: "A tool call has a wrong argument.", Go: "chaoshttp.WrongArgument(name)",
	Class: chaos.ClassValue,
}, func(c chaos.Call, args *jsonedit.Value, i int) { mistake(c, args.At(i)) })

// MissingArgument removes one argument of each tool call. If name is empty, it
// is drawn from the call's coordinates.
func MissingArgument(name string) chaos.Fault { return missingArgumentRow.Of(argumentName{name}) }

var missingArgumentRow = argumentRow(catalog.Row{
	Kind: "missing_argument", Doc: "A tool call lacks an argument.", Go: "chaoshttp.MissingArgument(name)",
	Class: chaos.ClassOmission,
}, func(_ chaos.Call, args *jsonedit.Value, i int) { args.Remove(i) })

// drawArgument is the salt of the draw of an argument: ASCII for "argument".
const drawArgument = 0x617267756d656e74

func argumentRow(r catalog.Row, change func(c chaos.Call, args *jsonedit.Value, i int)) *catalog.Inject[argumentName] {
	return completionRow(r, func(c chaos.Call, p argumentName) editor {
		return eachCall(func(args string) string {
			doc, ok := jsonedit.ParseValue([]byte(args))
			if !ok || doc.Kind() != jsonedit.Object || doc.Len() == 0 {
				return args
			}
			i := int(c.Draw(drawArgument) * float64(doc.Len()))
			if p.Name != "" {
				i = slices.Index(doc.Keys(), p.Name)
			}
			if i < 0 {
				return args
			}
			change(c, doc, i)
			return string(doc.Bytes())
		})
	})
}

// completionRow completes the row of a fault that changes a completion. make makes an
// editor for each choice of an answer.
func completionRow[P any](r catalog.Row, make func(chaos.Call, P) editor) *catalog.Inject[P] {
	r.Layer = chaos.LayerLLM
	return changeRow(r, false, func(ctx context.Context, c chaos.Call, p P, r Response, _ Request) Response {
		return edited(ctx, r, func(i int) editor { return make(c.Sub(i), p) })
	})
}

const maxCompletion = 8 << 20

const notUnderstood = "the body is no chat completion, message, response, or answer of Gemini or Ollama that is understood"

const nothingChanged = "the completion has nothing that this fault changes"

// edited puts an editor in front of a response, if that may be a completion.
func edited(ctx context.Context, r Response, fresh func(i int) editor) Response {
	problem, kind := encodedAs(r), mediaType(r.Header)
	switch {
	case problem == "" && isStream(r.Header):
		return scripted(ctx, r, completionScript(fresh))
	case problem == "" && kind != "application/json" && !strings.HasSuffix(kind, "+json"):
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

func completionScript(fresh func(i int) editor) script {
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
