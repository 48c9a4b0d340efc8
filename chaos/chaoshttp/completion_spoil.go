package chaoshttp

import (
	"context"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp/internal/completion"
)

// spoilRows are the faults of this file.
func spoilRows() []*catalog.Row { return []*catalog.Row{spoilCompletionRow} }

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
func SpoilCompletion(p Part, s Spoil) chaos.Fault {
	return spoilCompletion{spoilParams: spoilParams{p, s}}
}

var spoilCompletionRow = catalog.Fault(catalog.Row{
	Kind: "spoiled_completion", Doc: "One part of the completion is spoiled.",
	Go: "chaoshttp.SpoilCompletion(part, spoil)", Example: `{"part":"content","spoil":"truncate"}`,
	Layer: chaos.LayerLLM, Class: chaos.ClassValue, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p spoilParams) chaos.Fault { return spoilCompletion{spoilParams: p} })

type spoilCompletion struct {
	changes
	spoilParams
}

func (f spoilCompletion) Check() error { return spoilCompletionRow.Check(f.spoilParams).Err() }

// Describe has the class of what is done.
func (f spoilCompletion) Describe() chaos.Description {
	d := spoilCompletionRow.Describe(f.spoilParams)
	switch f.Spoil {
	case SpoilEmpty, SpoilTruncate:
		d.Class = chaos.ClassOmission
	case SpoilSchema:
		d.Class = chaos.ClassProtocol
	}
	return d
}

func (f spoilCompletion) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return changeCompletion(ctx, c, args, next, f.editor)
}

// The messages in the place of what a model should have said.
const (
	errorText   = "Internal server error"
	timeoutText = "Request timed out"
)

func (f spoilCompletion) editor(c chaos.Call) completion.Editor {
	if f.Part == PartArguments {
		return f.ofArguments(c)
	}
	switch f.Spoil {
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

func (f spoilCompletion) ofArguments(c chaos.Call) completion.Editor {
	switch f.Spoil {
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
