package mcpchaos

import (
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Drop loses a message. The end that waits for an answer waits until its
// context ends.
func Drop() chaos.Fault { return dropped.Of(catalog.None{}) }

var dropped = &catalog.Inject[catalog.None]{
	Row: protocolRow(catalog.Row{Kind: "mcp_dropped", Doc: "A message between client and server is lost.",
		Go:         "mcpchaos.Drop()",
		Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectUnknown}),
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_dropped", false, func(catalog.None, chaos.Call, string) ([]string, error) {
		return nil, nil
	}),
}

// Duplicate delivers a message followed by copies of it, from 1 to 1000.
func Duplicate(copies int) chaos.Fault { return duplicated.Of(repeat{copies}) }

var duplicated = &catalog.Inject[repeat]{
	Row: protocolRow(catalog.Row{Kind: "mcp_duplicated", Doc: "A message arrives several times.",
		Go: "mcpchaos.Duplicate(copies)", Example: `{"copies":1}`,
		Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectUnknown}),
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_duplicated", false, func(p repeat, _ chaos.Call, text string) ([]string, error) {
		return slices.Repeat([]string{text}, p.Copies+1), nil
	}),
}

type repeat struct {
	Copies int `json:"copies" bounds:"min=1,max=1000" doc:"copies that follow the message"`
}

// FloodListChanged sends notifications after a message, from 1 to 10000, that
// the list of tools has changed, although it has not.
func FloodListChanged(count int) chaos.Fault { return flood.Of(notices{count}) }

var flood = &catalog.Inject[notices]{
	Row: protocolRow(catalog.Row{Kind: "mcp_list_changed_flood",
		Doc: "Notifications follow that the list of tools has changed, although it has not.",
		Go:  "mcpchaos.FloodListChanged(count)", Example: `{"count":100}`,
		Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone}),
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_list_changed_flood", false, func(p notices, _ chaos.Call, text string) ([]string, error) {
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`
		return append([]string{text}, slices.Repeat([]string{changed}, p.Count)...), nil
	}),
}

type notices struct {
	Count int `json:"count" bounds:"min=1,max=10000" doc:"notifications after the message"`
}

// Cut breaks the connection at a message, which is lost: the SDK sees the other
// end close.
func Cut() chaos.Fault { return cut.Of(catalog.None{}) }

var cut = &catalog.Fail[catalog.None]{
	Row: protocolRow(catalog.Row{Kind: "mcp_cut", Doc: "The connection breaks at a message.",
		Go:         "mcpchaos.Cut()",
		Visibility: chaos.Explicit, Persistence: chaos.Permanent, Effect: chaos.EffectUnknown}),
	Fail: func(chaos.Call, catalog.None) error { return io.ErrUnexpectedEOF },
}
