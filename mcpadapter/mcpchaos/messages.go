package mcpchaos

import (
	"encoding/json"
	"errors"
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
	message, ok := jsonedit.ParseValue([]byte(text))
	if !ok || message.Kind() != jsonedit.Object {
		return nil, errors.New("the message is no JSON object")
	}
	id := message.Get("id")
	if id == nil {
		return nil, errors.New("the message has no id")
	}
	id.Put(jsonedit.Quote("x" + strings.Trim(string(id.Bytes()), `"`))) // the SDKs count
	return []string{string(message.Bytes())}, nil
})
