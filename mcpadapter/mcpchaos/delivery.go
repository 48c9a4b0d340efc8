package mcpchaos

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func deliveryRows() []*catalog.Row {
	return []*catalog.Row{droppedRow, duplicatedRow, overtakenRow, floodRow, cutRow}
}

// Drop loses a message. The end that waits for an answer waits until its
// context ends.
func Drop() chaos.Fault { return rewrite{rewriter: dropped{}} }

var droppedRow = catalog.Fault(catalog.Row{
	Kind: "mcp_dropped", Doc: "A message between client and server is lost.",
	Go:    "mcpchaos.Drop()",
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Transient,
	Effect: chaos.EffectUnknown,
}, func(catalog.None) chaos.Fault { return Drop() })

type dropped struct{}

func (dropped) Check() error                { return nil }
func (dropped) Describe() chaos.Description { return droppedRow.Describe(catalog.None{}) }

func (dropped) lines(chaos.Call, Message, string) ([]string, error) { return nil, nil }

// Duplicate delivers a message followed by copies of it, from 1 to 1000.
func Duplicate(copies int) chaos.Fault { return rewrite{rewriter: duplicated{repeat{copies}}} }

var duplicatedRow = catalog.Fault(catalog.Row{
	Kind: "mcp_duplicated", Doc: "A message arrives several times.",
	Go: "mcpchaos.Duplicate(copies)", Example: `{"copies":1}`,
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient,
	Effect: chaos.EffectUnknown,
}, func(p repeat) chaos.Fault { return Duplicate(p.Copies) })

type (
	repeat struct {
		Copies int `json:"copies" bounds:"min=1,max=1000" doc:"copies that follow the message"`
	}
	duplicated struct{ repeat }
)

func (f duplicated) Check() error                { return duplicatedRow.Check(f.repeat).Err() }
func (f duplicated) Describe() chaos.Description { return duplicatedRow.Describe(f.repeat) }

func (f duplicated) lines(_ chaos.Call, _ Message, text string) ([]string, error) {
	return slices.Repeat([]string{text}, f.Copies+1), nil
}

// Overtake delays a received message until a number of later messages, from 1 to
// 1000, have passed it. It waits for them for at most atMost, from a millisecond
// to an hour; if fewer come, the message is only late. Messages behind it are not
// delayed. A sent message is not changed: wrap the end that reads it.
func Overtake(by int, atMost time.Duration) chaos.Fault {
	return rewrite{overtaken{lateness{by, atMost}}, true}
}

var overtakenRow = catalog.Fault(catalog.Row{
	Kind: "mcp_overtaken", Doc: "Later messages pass a received message.",
	Go: "mcpchaos.Overtake(by, atMost)", Example: `{"by":1,"atMost":"1s"}`,
	Layer: chaos.LayerTool, Class: chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient,
	Effect: chaos.EffectUnknown,
}, func(p lateness) chaos.Fault { return Overtake(p.By, p.AtMost) })

type (
	lateness struct {
		By     int           `json:"by" bounds:"min=1,max=1000" doc:"later messages that pass"`
		AtMost time.Duration `json:"atMost" bounds:"min=1ms,max=1h" doc:"longest wait for them"`
	}
	overtaken struct{ lateness }
)

func (f overtaken) Check() error                { return overtakenRow.Check(f.lateness).Err() }
func (f overtaken) Describe() chaos.Description { return overtakenRow.Describe(f.lateness) }

func (f overtaken) lines(_ chaos.Call, m Message, text string) ([]string, error) {
	if m.postpone == nil {
		return nil, errors.New("the message was made by another fault")
	}
	m.postpone.behind, m.postpone.atMost = f.By, f.AtMost
	return []string{text}, nil
}

// FloodListChanged sends notifications after a message, from 1 to 10000, that
// the list of tools has changed, although it has not.
func FloodListChanged(count int) chaos.Fault { return rewrite{rewriter: flood{notices{count}}} }

var floodRow = catalog.Fault(catalog.Row{
	Kind: "mcp_list_changed_flood",
	Doc:  "Notifications follow that the list of tools has changed, although it has not.",
	Go:   "mcpchaos.FloodListChanged(count)", Example: `{"count":100}`,
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient,
	Effect: chaos.EffectDone,
}, func(p notices) chaos.Fault { return FloodListChanged(p.Count) })

type (
	notices struct {
		Count int `json:"count" bounds:"min=1,max=10000" doc:"notifications after the message"`
	}
	flood struct{ notices }
)

func (f flood) Check() error                { return floodRow.Check(f.notices).Err() }
func (f flood) Describe() chaos.Description { return floodRow.Describe(f.notices) }

func (f flood) lines(_ chaos.Call, _ Message, text string) ([]string, error) {
	return append([]string{text},
		slices.Repeat([]string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`},
			f.Count)...), nil
}

// Cut breaks the connection at a message, which is lost: the SDK sees the other
// end close.
func Cut() chaos.Fault { return cut{} }

var cutRow = catalog.Fault(catalog.Row{
	Kind: "mcp_cut", Doc: "The connection breaks at a message.",
	Go:    "mcpchaos.Cut()",
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
	Effect: chaos.EffectUnknown,
}, func(catalog.None) chaos.Fault { return Cut() })

type cut struct{}

func (cut) Describe() chaos.Description { return cutRow.Describe(catalog.None{}) }

func (f cut) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.Fail(chaos.Call{})
}

func (cut) Fail(chaos.Call) error { return io.ErrUnexpectedEOF }
