package chaoshttp

import (
	"fmt"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

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

// SpoilCompletion changes one part of a completion, which otherwise ends as it
// would: unlike [CutCompletion] and [EmptyCompletion] it leaves the reason
// alone.
func SpoilCompletion(p Part, s Spoil) chaos.Fault { return completionFault{spoilt{p, s}} }

type spoilt struct {
	part Part
	how  Spoil
}

// The messages in the place of what a model should have said.
const (
	errorText   = "Internal server error"
	timeoutText = "Request timed out"
)

// drawTruncate is the salt of the draw of a length: ASCII for "truncate".
const drawTruncate = 0x7472756e63617465

func (f spoilt) editor(c chaos.Call) editor {
	if f.part == PartArguments {
		return f.arguments(c)
	}
	switch f.how {
	case SpoilError:
		return &replacer{words: errorText}
	case SpoilTimeout:
		return &replacer{words: timeoutText}
	case SpoilEmpty:
		return &replacer{}
	case SpoilTruncate:
		return &truncator{keep: 1 + int(c.Draw(drawTruncate)*16)}
	case SpoilCorrupt:
		return &garbler{call: c, text: true}
	}
	return &drifter{begin: func(json bool) manner {
		if json {
			return manner{atEnd: func(text string) string { return otherKeys(c, text, true) }}
		}
		return otherFormat(false)
	}}
}

func (f spoilt) arguments(c chaos.Call) editor {
	switch f.how {
	case SpoilError:
		return &arguments{change: func(string) string { return fmt.Sprintf(`{"error":%q}`, errorText) }}
	case SpoilTimeout:
		return &arguments{change: func(string) string { return fmt.Sprintf(`{"error":%q}`, timeoutText) }}
	case SpoilEmpty:
		return &arguments{change: func(string) string { return "{}" }}
	case SpoilTruncate:
		return &arguments{change: func(args string) string {
			head, _ := first(args, utf8.RuneCountInString(args)/2)
			return head
		}}
	case SpoilCorrupt:
		return &garbler{call: c, args: true}
	}
	return &arguments{change: func(args string) string { return otherKeys(c, args, true) }}
}

func (f spoilt) describe() chaos.Description {
	d := chaos.Description{Kind: "spoiled_completion", Class: chaos.ClassValue}
	switch f.how {
	case SpoilEmpty, SpoilTruncate:
		d.Class = chaos.ClassOmission
	case SpoilSchema:
		d.Class = chaos.ClassProtocol
	}
	return param.With(d, struct {
		Part  Part  `json:"part"`
		Spoil Spoil `json:"spoil"`
	}{f.part, f.how})
}

func (f spoilt) check(c *param.Check) {
	switch f.part {
	case PartContent, PartArguments:
	default:
		c.That(false, "part", fmt.Sprintf("%q", string(f.part)), "content, toolArguments")
	}
	switch f.how {
	case SpoilError, SpoilTimeout, SpoilEmpty, SpoilTruncate, SpoilCorrupt, SpoilSchema:
	default:
		c.That(false, "spoil", fmt.Sprintf("%q", string(f.how)), "error, timeout, empty, truncate, corrupt, schema")
	}
}
