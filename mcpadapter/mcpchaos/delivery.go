package mcpchaos

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Drop loses a message. The end that waits for an answer waits until its
// context ends.
func Drop() chaos.Fault { return dropped.Of(catalog.None{}) }

var dropped = &catalog.Inject[catalog.None]{
	Row: catalog.Row{
		Kind: "mcp_dropped", Doc: "A message between client and server is lost.",
		Go:    "mcpchaos.Drop()",
		Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Transient,
		Effect: chaos.EffectUnknown,
	},
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_dropped", false, func(catalog.None, chaos.Call, Message, string) ([]string, error) {
		return nil, nil
	}),
}

// Duplicate delivers a message followed by copies of it, from 1 to 1000.
func Duplicate(copies int) chaos.Fault { return duplicated.Of(repeat{copies}) }

var duplicated = &catalog.Inject[repeat]{
	Row: catalog.Row{
		Kind: "mcp_duplicated", Doc: "A message arrives several times.",
		Go: "mcpchaos.Duplicate(copies)", Example: `{"copies":1}`,
		Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient,
		Effect: chaos.EffectUnknown,
	},
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_duplicated", false, func(p repeat, _ chaos.Call, _ Message, text string) ([]string, error) {
		return slices.Repeat([]string{text}, p.Copies+1), nil
	}),
}

type repeat struct {
	Copies int `json:"copies" bounds:"min=1,max=1000" doc:"copies that follow the message"`
}

// Overtake delays a received message until a number of later messages, from 1 to
// 1000, have passed it. It waits for them for at most atMost, from a millisecond
// to an hour; if fewer come, the message is only late. Messages behind it are not
// delayed. A sent message is not changed: wrap the end that reads it.
func Overtake(by int, atMost time.Duration) chaos.Fault { return overtaken.Of(lateness{by, atMost}) }

var overtaken = &catalog.Inject[lateness]{
	Row: catalog.Row{
		Kind: "mcp_overtaken", Doc: "Later messages pass a received message.",
		Go: "mcpchaos.Overtake(by, atMost)", Example: `{"by":1,"atMost":"1s"}`,
		Layer: chaos.LayerTool, Class: chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient,
		Effect: chaos.EffectUnknown,
	},
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_overtaken", true, func(p lateness, _ chaos.Call, m Message, text string) ([]string, error) {
		if m.postpone == nil {
			return nil, errors.New("the message was made by another fault")
		}
		m.postpone.behind, m.postpone.atMost = p.By, p.AtMost
		return []string{text}, nil
	}),
}

type lateness struct {
	By     int           `json:"by" bounds:"min=1,max=1000" doc:"later messages that pass"`
	AtMost time.Duration `json:"atMost" bounds:"min=1ms,max=1h" doc:"longest wait for them"`
}

// FloodListChanged sends notifications after a message, from 1 to 10000, that
// the list of tools has changed, although it has not.
func FloodListChanged(count int) chaos.Fault { return flood.Of(notices{count}) }

var flood = &catalog.Inject[notices]{
	Row: catalog.Row{
		Kind: "mcp_list_changed_flood",
		Doc:  "Notifications follow that the list of tools has changed, although it has not.",
		Go:   "mcpchaos.FloodListChanged(count)", Example: `{"count":100}`,
		Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient,
		Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseChange,
	Inject: lines("mcp_list_changed_flood", false, func(p notices, _ chaos.Call, _ Message,
		text string) ([]string, error) {
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
	Row: catalog.Row{
		Kind: "mcp_cut", Doc: "The connection breaks at a message.",
		Go:    "mcpchaos.Cut()",
		Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
		Effect: chaos.EffectUnknown,
	},
	Fail: func(chaos.Call, catalog.None) error { return io.ErrUnexpectedEOF },
}
