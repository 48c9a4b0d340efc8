package chaoshttp

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
)

// spoilRows are the faults of this file.
func spoilRows() []*catalog.Row { return []*catalog.Row{spoilCompletionRow.Row} }

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
func SpoilCompletion(p Part, s Spoil) chaos.Fault { return spoilCompletionRow.of(spoilParams{p, s}) }

var spoilCompletionRow = completionRow(catalog.Row{
	Kind: "spoiled_completion", Doc: "One part of the completion is spoiled.",
	Go: "chaoshttp.SpoilCompletion(part, spoil)", Example: `{"part":"content","spoil":"truncate"}`,
	Class: chaos.ClassValue,
}, func(c chaos.Call, p spoilParams) completion.Editor { return p.editor(c) })

// class is that of what is done.
func (p spoilParams) class() chaos.Class {
	switch p.Spoil {
	case SpoilEmpty, SpoilTruncate:
		return chaos.ClassOmission
	case SpoilSchema:
		return chaos.ClassProtocol
	}
	return chaos.ClassValue
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
