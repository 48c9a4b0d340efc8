package completion

import (
	"fmt"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
)

// The editors, each by what it does to a completion. Those that draw take the
// coordinates of a call.

// Empty removes everything from a completion, which ends normally.
func Empty() Editor { return &emptied{} }

// Cut ends a completion as at its token limit, after so many characters of text
// and arguments together.
func Cut(keep int) Editor { return &cutter{left: keep, reason: reasonLength} }

// Filter ends a completion as the provider's filter does, after so many
// characters.
func Filter(keep int) Editor { return &cutter{left: keep, reason: reasonFilter} }

// Refuse replaces everything by a refusal; "" is a usual one.
func Refuse(words string) Editor {
	if words == "" {
		words = "I'm sorry, but I can't help with that request."
	}
	return &refuser{words: words}
}

// Garble makes gibberish of the text.
func Garble(c chaos.Call) Editor { return &garbler{call: c, text: true} }

// Replace replaces the first text by words and empties the others. "" empties
// all.
func Replace(words string) Editor { return &replacer{words: words} }

// drawTruncate is the salt of the draw of a length: ASCII for "truncate".
const drawTruncate = 0x7472756e63617465

// Truncate keeps a drawn number of characters of each text, and does not say so.
func Truncate(c chaos.Call) Editor { return &truncator{keep: 1 + int(c.Draw(drawTruncate)*16)} }

// MalformCalls removes the last character of the arguments of each tool call.
func MalformCalls() Editor { return &unclosed{} }

// StripCalls removes all tool calls from a completion, which ends normally.
func StripCalls() Editor { return &stripper{} }

// RenameCall gives the first tool call another tool's name; "" makes one of the
// real name.
func RenameCall(c chaos.Call, name string) Editor { return &renamer{call: c, name: name} }

// WrongArgument gives one argument of each tool call another value of its type.
// name "" draws the argument.
func WrongArgument(c chaos.Call, name string) Editor {
	return &arguments{change: func(args string) string { return withWrongMember(c, args, name) }}
}

// MissingArgument removes one argument of each tool call. name "" draws it.
func MissingArgument(c chaos.Call, name string) Editor {
	return &arguments{change: func(args string) string { return withoutMember(c, args, name) }}
}

// EmptyArguments leaves no argument in any tool call.
func EmptyArguments() Editor {
	return &arguments{change: func(string) string { return "{}" }}
}

// ReplaceArguments puts an error message in place of the arguments.
func ReplaceArguments(message string) Editor {
	return &arguments{change: func(string) string { return fmt.Sprintf(`{"error":%q}`, message) }}
}

// HalveArguments keeps the first half of the arguments' text.
func HalveArguments() Editor {
	return &arguments{change: func(args string) string {
		head, _ := first(args, utf8.RuneCountInString(args)/2)
		return head
	}}
}

// GarbleArguments makes gibberish of the arguments.
func GarbleArguments(c chaos.Call) Editor { return &garbler{call: c, args: true} }

// RenameArguments gives all arguments other names.
func RenameArguments(c chaos.Call) Editor {
	return &arguments{change: func(args string) string { return otherKeys(c, args, true) }}
}
