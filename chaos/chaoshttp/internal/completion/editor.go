package completion

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
)

// The editors, each by what it does to a completion. Those that draw take the
// coordinates of a call.

// Empty removes everything from a completion, which ends normally.
func Empty() Editor {
	return func(p *piece) {
		switch p.kind {
		case pieceText:
			p.text = ""
		case pieceCall:
			p.drop = true
		case pieceFinish:
			p.text = reasonStop
		}
	}
}

// Cut ends a completion as at its token limit, after so many characters of text
// and arguments together. A shorter completion ends as it would.
func Cut(keep int) Editor { return cutAt(keep, reasonLength) }

// Filter ends a completion as the provider's filter does, after so many
// characters.
func Filter(keep int) Editor { return cutAt(keep, reasonFilter) }

func cutAt(left int, reason string) Editor {
	return func(p *piece) {
		switch p.kind {
		case pieceText, pieceArgs:
			p.text, left = first(p.text, left)
		case pieceCall:
			p.drop = left == 0
		case pieceFinish:
			if left == 0 {
				p.text = reason
			}
		}
	}
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

// drawTruncate is the salt of the draw of a length: ASCII for "truncate".
const drawTruncate = 0x7472756e63617465

// Truncate keeps a drawn number of characters of each text, and does not say so.
func Truncate(c chaos.Call) Editor {
	keep := 1 + int(c.Draw(drawTruncate)*16)
	left := keep
	return func(p *piece) {
		switch p.kind {
		case pieceText:
			p.text, left = first(p.text, left)
		case pieceTextEnd:
			left = keep
		}
	}
}

// Replace replaces the first text by words and empties the others. "" empties
// all.
func Replace(words string) Editor {
	return func(p *piece) {
		if p.kind == pieceText && p.text != "" {
			p.text, words = words, ""
		}
	}
}

// Refuse replaces everything by a refusal; "" is a usual one.
func Refuse(words string) Editor {
	if words == "" {
		words = "I'm sorry, but I can't help with that request."
	}
	said := false
	return func(p *piece) {
		switch p.kind {
		case pieceText:
			if p.text == "" {
				return
			}
			if p.text = ""; !said {
				p.text, p.refusal, said = words, true, true
			}
		case pieceCall:
			p.drop = true
		case pieceFinish:
			if p.text = reasonRefusal; !said {
				p.more = words
			}
		}
	}
}

// Garble makes gibberish of the text.
func Garble(c chaos.Call) Editor { return garble(c, pieceText) }

// GarbleArguments makes gibberish of the arguments.
func GarbleArguments(c chaos.Call) Editor { return garble(c, pieceArgs) }

// The gibberish has no digits and no quotes, so that no JSON comes of JSON, and
// drawGarble is the salt of its draws: ASCII for "garble".
const (
	gibberish  = "bcdfghjklmnpqrstvwxz#%&~^@|<>"
	drawGarble = 0x676172626c65
)

func garble(c chaos.Call, kind pieceKind) Editor {
	seen := uint64(0) // characters so far
	other := func(r rune) rune {
		seen++
		if unicode.IsSpace(r) {
			return r
		}
		return rune(gibberish[int(c.Draw(drawGarble+seen)*float64(len(gibberish)))])
	}
	return func(p *piece) {
		if p.kind == kind {
			p.text = strings.Map(other, p.text)
		}
	}
}

// MalformCalls removes the last character of the arguments of each tool call.
func MalformCalls() Editor {
	held := ""
	return func(p *piece) {
		switch p.kind {
		case pieceArgs:
			all := held + p.text
			last := max(strings.LastIndexFunc(all, func(r rune) bool { return !unicode.IsSpace(r) }), 0)
			p.text, held, p.late = all[:last], all[last:], true
		case pieceCallEnd:
			p.was, held = held, ""
		}
	}
}

// StripCalls removes all tool calls from a completion, which ends normally.
func StripCalls() Editor {
	stripped := false
	return func(p *piece) {
		switch {
		case p.kind == pieceCall:
			p.drop, stripped = true, true
		case p.kind == pieceFinish && stripped:
			p.text = reasonStop
		}
	}
}

// drawName is the salt of the draw of a name: ASCII for "toolname".
const drawName = 0x746f6f6c6e616d65

// RenameCall gives the first tool call another tool's name; "" makes one of the
// real name.
func RenameCall(c chaos.Call, name string) Editor {
	done := false
	return func(p *piece) {
		if p.kind != pieceCall || done {
			return
		}
		done = true
		if name == "" {
			name = pick(c, drawName, "fetch_", "lookup_", "execute_", "advanced_") + p.text
		}
		p.text = name
	}
}

// pick draws one of several texts.
func pick(c chaos.Call, salt uint64, of ...string) string {
	return of[int(c.Draw(salt)*float64(len(of)))]
}

// eachCall changes the arguments of each call once they are complete.
func eachCall(change func(args string) string) Editor {
	held := ""
	return func(p *piece) {
		switch p.kind {
		case pieceArgs:
			held += p.text
			p.text, p.late = "", true
		case pieceCallEnd:
			if held != "" {
				p.more = change(held)
			}
			p.was, held = held, ""
		}
	}
}

// WrongArgument gives one argument of each tool call another value of its type.
// name "" draws the argument.
func WrongArgument(c chaos.Call, name string) Editor {
	return eachCall(func(args string) string { return withWrongMember(c, args, name) })
}

// MissingArgument removes one argument of each tool call. name "" draws it.
func MissingArgument(c chaos.Call, name string) Editor {
	return eachCall(func(args string) string { return withoutMember(c, args, name) })
}

// EmptyArguments leaves no argument in any tool call.
func EmptyArguments() Editor { return eachCall(func(string) string { return "{}" }) }

// ReplaceArguments puts an error message in place of the arguments.
func ReplaceArguments(message string) Editor {
	return eachCall(func(string) string { return fmt.Sprintf(`{"error":%q}`, message) })
}

// HalveArguments keeps the first half of the arguments' text.
func HalveArguments() Editor {
	return eachCall(func(args string) string {
		head, _ := first(args, utf8.RuneCountInString(args)/2)
		return head
	})
}

// RenameArguments gives all arguments other names.
func RenameArguments(c chaos.Call) Editor {
	return eachCall(func(args string) string { return otherKeys(c, args, true) })
}
