package mcpchaos

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Drop loses a message. The end that waits for an answer waits until its
// context ends.
func Drop() chaos.Fault { return dropped.Of(catalog.None{}) }

var dropped = messageRow(catalog.Row{Kind: "mcp_dropped",
	Doc: "A message between client and server is lost.",
	Go:  "mcpchaos.Drop()",
}, false, func(catalog.None, chaos.Call, string) ([]string, error) {
	return nil, nil
})

// Duplicate delivers a message followed by copies of it, from 1 to 1000.
func Duplicate(copies int) chaos.Fault { return duplicated.Of(repeat{copies}) }

var duplicated = messageRow(catalog.Row{Kind: "mcp_duplicated",
	Doc: "A message arrives several times.",
	Go:  "mcpchaos.Duplicate(copies)", Example: `{"copies":1}`,
	Visibility: chaos.Implicit,
}, false, func(p repeat, _ chaos.Call, text string) ([]string, error) {
	return slices.Repeat([]string{text}, p.Copies+1), nil
})

type repeat struct {
	Copies int `json:"copies" bounds:"min=1,max=1000" doc:"copies that follow the message"`
}

// FloodListChanged sends notifications after a message, from 1 to 10000, that
// the list of tools has changed, although it has not.
func FloodListChanged(count int) chaos.Fault { return flood.Of(notices{count}) }

var flood = messageRow(catalog.Row{Kind: "mcp_list_changed_flood",
	Doc: "Notifications follow that the list of tools has changed, although it has not.",
	Go:  "mcpchaos.FloodListChanged(count)", Example: `{"count":100}`,
	Visibility: chaos.Implicit, Effect: chaos.EffectDone,
}, false, func(p notices, _ chaos.Call, text string) ([]string, error) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`
	return append([]string{text}, slices.Repeat([]string{changed}, p.Count)...), nil
})

type notices struct {
	Count int `json:"count" bounds:"min=1,max=10000" doc:"notifications after the message"`
}

// Cut breaks the connection at a message, which is lost: the SDK sees the other
// end close.
func Cut() chaos.Fault { return cut.Of(catalog.None{}) }

var cut = &catalog.Fail[catalog.None]{
	Row: protocolRow(catalog.Row{Kind: "mcp_cut", Doc: "The connection breaks at a message.",
		Go: "mcpchaos.Cut()", Persistence: chaos.Permanent}),
	Fail: func(chaos.Call, catalog.None) error { return io.ErrUnexpectedEOF },
}

// drawCut is the salt of the draw: ASCII for "corrupt".
const drawCut = 0x636f7272757074

// Corrupt cuts a received message off at a place drawn from the coordinates of
// the call. The remainder is not valid JSON, which breaks the connection.
func Corrupt() chaos.Fault { return corrupted.Of(catalog.None{}) }

var corrupted = messageRow(catalog.Row{Kind: "mcp_corrupted",
	Doc: "A received message is cut off, so that it is no JSON.",
	Go:  "mcpchaos.Corrupt()", Persistence: chaos.Permanent,
}, true, func(_ catalog.None, c chaos.Call, text string) ([]string, error) {
	return []string{text[:1+int(c.Draw(drawCut)*float64(len(text)-1))]}, nil
})

// InsertGarbage inserts a line that is not a message before a received message,
// like a server that prints to its standard output. The line must not be empty
// or valid JSON.
func InsertGarbage(line string) chaos.Fault { return garbage.Of(printed{line}) }

var garbage = messageRow(catalog.Row{Kind: "mcp_garbage",
	Doc: "A line that is no message comes before a received message.",
	Go:  "mcpchaos.InsertGarbage(line)", Example: `{"line":"listening on stdio"}`, Persistence: chaos.Permanent,
}, true, func(p printed, _ chaos.Call, text string) ([]string, error) {
	return []string{p.Line, text}, nil
})

type printed struct {
	Line string `json:"line" doc:"the line" allowed:"one line of text that is not JSON"`
}

// Check adds what bounds cannot say.
func (p printed) Check(c *catalog.Check) {
	c.That(!json.Valid([]byte(p.Line)) && strings.TrimSpace(p.Line) != "" && !strings.ContainsAny(p.Line, "\r\n"),
		"line", p.Line, "one line of text that is not JSON")
}

// ChangeID gives a request or response an id that no request has. The end that
// waits for the answer waits until its context ends. A notification has no id
// and is not changed.
func ChangeID() chaos.Fault { return wrongID.Of(catalog.None{}) }

var wrongID = messageRow(catalog.Row{Kind: "mcp_wrong_id",
	Doc: "A request or response has an id that no request has.",
	Go:  "mcpchaos.ChangeID()",
}, false, func(_ catalog.None, _ chaos.Call, text string) ([]string, error) {
	return edited(text, func(message *jsonedit.Value) error {
		id := message.Get("id")
		if id == nil {
			return errors.New("the message has no id")
		}
		id.Put(jsonedit.Quote("x" + strings.Trim(string(id.Bytes()), `"`))) // the SDKs count
		return nil
	})
})

// Oversize makes a message longer by a number of bytes, from 1 to 64 MiB. The
// padding is in the _meta of its parameters or result, which readers may
// ignore. The reader decides whether the message is too long: see
// [Options.MaxLine]. A protocol error has no _meta and is not changed.
func Oversize(bytes int) chaos.Fault { return oversized.Of(padding{bytes}) }

var oversized = messageRow(catalog.Row{Kind: "mcp_oversized",
	Doc: "A message is much longer.",
	Go:  "mcpchaos.Oversize(bytes)", Example: `{"bytes":1048576}`, Persistence: chaos.Permanent,
}, false, func(p padding, _ chaos.Call, text string) ([]string, error) {
	return edited(text, func(message *jsonedit.Value) error { return pad(message, p.Bytes) })
})

type padding struct {
	Bytes int `json:"bytes" bounds:"min=1,max=67108864" doc:"bytes that the message is longer"`
}

// edited returns a message with changed members.
func edited(text string, change func(message *jsonedit.Value) error) ([]string, error) {
	message, ok := jsonedit.ParseValue([]byte(text))
	if !ok || message.Kind() != jsonedit.Object {
		return nil, errors.New("the message is no JSON object")
	}
	err := change(message)
	return []string{string(message.Bytes())}, err
}

// pad adds bytes to a message, in the _meta of its parameters or result.
func pad(message *jsonedit.Value, bytes int) error {
	var inner *jsonedit.Value
	if message.Get("method") != nil {
		inner = objectIn(message, "params")
	} else if message.Get("result") != nil {
		inner = objectIn(message, "result")
	}
	switch meta := objectIn(inner, "_meta"); {
	case inner == nil:
		return errors.New("the message has no parameters or result that could be longer")
	case meta == nil:
		return errors.New("the message has a _meta that is no object")
	default:
		meta.SetText("padding", strings.Repeat("x", bytes))
		return nil
	}
}

// objectIn is the member of that name, made if there is none or it is null; nil: it is no object.
func objectIn(of *jsonedit.Value, name string) *jsonedit.Value {
	if kind := of.Get(name).Kind(); kind == 0 || kind == jsonedit.Null {
		of.Set(name, jsonedit.Of(struct{}{}))
	}
	if member := of.Get(name); member.Kind() == jsonedit.Object {
		return member
	}
	return nil
}
