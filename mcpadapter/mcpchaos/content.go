package mcpchaos

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func contentRows() []*catalog.Row {
	return []*catalog.Row{corruptedRow, garbageRow, wrongIDRow, oversizedRow}
}

// drawCut is the salt of the draw: ASCII for "corrupt".
const drawCut = 0x636f7272757074

// Corrupt cuts a received message off at a place drawn from the coordinates of
// the call. The remainder is not valid JSON, which breaks the connection.
func Corrupt() chaos.Fault { return rewrite{corrupted{}, true} }

var corruptedRow = catalog.Fault(catalog.Row{
	Kind: "mcp_corrupted", Doc: "A received message is cut off, so that it is no JSON.",
	Go:    "mcpchaos.Corrupt()",
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
	Effect: chaos.EffectUnknown,
}, func(catalog.None) chaos.Fault { return Corrupt() })

type corrupted struct{}

func (corrupted) Check() error                { return nil }
func (corrupted) Describe() chaos.Description { return corruptedRow.Describe(catalog.None{}) }

func (corrupted) lines(c chaos.Call, _ Message, text string) ([]string, error) {
	return []string{text[:1+int(c.Draw(drawCut)*float64(len(text)-1))]}, nil
}

// InsertGarbage inserts a line that is not a message before a received message,
// like a server that printeds to its standard output. The line must not be empty
// or valid JSON.
func InsertGarbage(line string) chaos.Fault { return rewrite{garbage{printed{line}}, true} }

var garbageRow = catalog.Fault(catalog.Row{
	Kind: "mcp_garbage", Doc: "A line that is no message comes before a received message.",
	Go: "mcpchaos.InsertGarbage(line)", Example: `{"line":"listening on stdio"}`,
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
	Effect: chaos.EffectUnknown,
}, func(p printed) chaos.Fault { return InsertGarbage(p.Line) })

type (
	printed struct {
		Line string `json:"line" doc:"the line" allowed:"one line of text that is not JSON"`
	}
	garbage struct{ printed }
)

func (f garbage) Check() error {
	c := garbageRow.Check(f.printed)
	c.That(!json.Valid([]byte(f.Line)) && strings.TrimSpace(f.Line) != "" && !strings.ContainsAny(f.Line, "\r\n"),
		"line", f.Line, "one line of text that is not JSON")
	return c.Err()
}

func (f garbage) Describe() chaos.Description { return garbageRow.Describe(f.printed) }

func (f garbage) lines(_ chaos.Call, _ Message, text string) ([]string, error) {
	return []string{f.Line, text}, nil
}

// ChangeID gives a request or response an id that no request has. The end that
// waits for the answer waits until its context ends. A notification has no id
// and is not changed.
func ChangeID() chaos.Fault { return rewrite{rewriter: wrongID{}} }

var wrongIDRow = catalog.Fault(catalog.Row{
	Kind: "mcp_wrong_id", Doc: "A request or response has an id that no request has.",
	Go:    "mcpchaos.ChangeID()",
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Transient,
	Effect: chaos.EffectUnknown,
}, func(catalog.None) chaos.Fault { return ChangeID() })

type wrongID struct{}

func (wrongID) Check() error                { return nil }
func (wrongID) Describe() chaos.Description { return wrongIDRow.Describe(catalog.None{}) }

func (wrongID) lines(_ chaos.Call, _ Message, text string) ([]string, error) {
	line, err := edited(text, func(members map[string]json.RawMessage) error {
		id, ok := members["id"]
		if !ok {
			return errors.New("the message has no id")
		}
		members["id"] = quoted("x" + strings.Trim(string(id), `"`)) // the SDKs count
		return nil
	})
	return []string{line}, err
}

// Oversize makes a message longer by a number of bytes, from 1 to 64 MiB. The
// padding is in the _meta of its parameters or result, which readers may
// ignore. The reader decides whether the message is too long: see
// [Options.MaxLine]. A protocol error has no _meta and is not changed.
func Oversize(bytes int) chaos.Fault { return rewrite{rewriter: oversized{padding{bytes}}} }

var oversizedRow = catalog.Fault(catalog.Row{
	Kind: "mcp_oversized", Doc: "A message is much longer.",
	Go: "mcpchaos.Oversize(bytes)", Example: `{"bytes":1048576}`,
	Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: chaos.Explicit, Persistence: chaos.Permanent,
	Effect: chaos.EffectUnknown,
}, func(p padding) chaos.Fault { return Oversize(p.Bytes) })

type (
	padding struct {
		Bytes int `json:"bytes" bounds:"min=1,max=67108864" doc:"bytes that the message is longer"`
	}
	oversized struct{ padding }
)

func (f oversized) Check() error                { return oversizedRow.Check(f.padding).Err() }
func (f oversized) Describe() chaos.Description { return oversizedRow.Describe(f.padding) }

func (f oversized) lines(_ chaos.Call, _ Message, text string) ([]string, error) {
	line, err := edited(text, func(members map[string]json.RawMessage) error { return pad(members, f.Bytes) })
	return []string{line}, err
}

// edited returns a message with changed members. The message is encoded again,
// so its members are sorted by name.
func edited(text string, change func(members map[string]json.RawMessage) error) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return text, err
	}
	if err := change(members); err != nil {
		return text, err
	}
	line, err := json.Marshal(members)
	return string(line), err
}

// pad adds bytes to a message, in the _meta of its parameters or result.
func pad(members map[string]json.RawMessage, bytes int) error {
	place := "params"
	if _, ok := members["method"]; !ok {
		place = "result"
	}
	inner, meta := make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	if doc, ok := members[place]; ok && json.Unmarshal(doc, &inner) != nil || !ok && place == "result" {
		return errors.New("the message has no parameters or result that could be longer")
	}
	if doc, ok := inner["_meta"]; ok && json.Unmarshal(doc, &meta) != nil {
		return errors.New("the message has a _meta that is no object")
	}
	meta["padding"] = quoted(strings.Repeat("x", bytes))
	var err error
	if inner["_meta"], err = json.Marshal(meta); err == nil {
		members[place], err = json.Marshal(inner)
	}
	return err
}
