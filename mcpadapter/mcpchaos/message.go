package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
)

// rewrite is a fault that replaces a message by other lines.
type rewrite struct {
	description  chaos.Description
	problems     error
	receivedOnly bool // it makes lines that are no messages, or lets them wait
	lines        func(c chaos.Call, m Message, text string) ([]string, error)
}

func (f rewrite) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	lines, isLines := result.([]string)
	m, isMessage := args.(Message)
	switch {
	case !isLines || !isMessage:
		chaos.Note(ctx, f.description.Kind+": this is no message of a wrapped transport")
		return result, nil
	case f.receivedOnly && m.Sent:
		chaos.Note(ctx, f.description.Kind+": it changes received messages only, and this one is sent; wrap the end that reads")
		return result, nil
	}
	var after []string
	for _, line := range lines {
		changed, err := f.lines(c, m, line)
		if err != nil {
			chaos.Note(ctx, f.description.Kind+": "+err.Error())
			return result, nil
		}
		after = append(after, changed...)
	}
	if slices.Equal(lines, after) {
		if m.postpone == nil || m.postpone.behind == 0 {
			return result, nil
		}
		late, end := chaos.KeepOpen(ctx) // the message stays as it is, and comes later
		defer func() { _ = end(nil, false) }()
		ctx = late
	}
	chaos.Changed(ctx, chaos.Change{Before: shown(lines), After: shown(after)})
	return after, nil
}

func (rewrite) Phase() chaos.Phase { return chaos.PhaseChange }

func (f rewrite) Check() error { return f.problems }

func (f rewrite) Describe() chaos.Description { return f.description }

// shown returns lines as an event shows them: the first four, each cut at 512
// bytes.
func shown(lines []string) json.RawMessage {
	const most, width = 4, 512
	list := []string{}
	for i, line := range lines {
		if i == most {
			list = append(list, "…")
			break
		}
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + "…"
		}
		list = append(list, line)
	}
	doc, _ := json.Marshal(list)
	return doc
}

// Drop loses a message. The end that waits for an answer waits until its
// context ends.
func Drop() chaos.Fault {
	return rewrite{
		description: described("mcp_dropped", chaos.Explicit, chaos.Transient, chaos.EffectUnknown, nil),
		lines:       func(chaos.Call, Message, string) ([]string, error) { return nil, nil },
	}
}

// Duplicate delivers a message followed by copies of it, from 1 to 1000.
func Duplicate(copies int) chaos.Fault {
	c := check{kind: "mcp_duplicated"}
	c.that(copies >= 1 && copies <= maxCopies, "copies", copies, "a number from 1 to 1000")
	return rewrite{
		description: described("mcp_duplicated", chaos.Implicit, chaos.Transient, chaos.EffectUnknown, struct {
			Copies int `json:"copies"`
		}{copies}),
		problems: c.err(),
		lines: func(_ chaos.Call, _ Message, text string) ([]string, error) {
			return slices.Repeat([]string{text}, copies+1), nil
		},
	}
}

// drawCut is the salt of the draw: ASCII for "corrupt".
const drawCut = 0x636f7272757074

// Corrupt cuts a received message off at a place drawn from the coordinates of
// the call. The remainder is not valid JSON, which breaks the connection.
func Corrupt() chaos.Fault {
	return rewrite{
		description:  described("mcp_corrupted", chaos.Explicit, chaos.Permanent, chaos.EffectUnknown, nil),
		receivedOnly: true,
		lines: func(c chaos.Call, _ Message, text string) ([]string, error) {
			return []string{text[:1+int(c.Draw(drawCut)*float64(len(text)-1))]}, nil
		},
	}
}

// InsertGarbage inserts a line that is not a message before a received message,
// like a server that prints to its standard output. The line must not be empty
// or valid JSON.
func InsertGarbage(line string) chaos.Fault {
	c := check{kind: "mcp_garbage"}
	c.that(!json.Valid([]byte(line)) && strings.TrimSpace(line) != "" && !strings.ContainsAny(line, "\r\n"), "line", line, "one line of text that is not JSON")
	return rewrite{
		description: described("mcp_garbage", chaos.Explicit, chaos.Permanent, chaos.EffectUnknown, struct {
			Line string `json:"line"`
		}{line}),
		problems:     c.err(),
		receivedOnly: true,
		lines:        func(_ chaos.Call, _ Message, text string) ([]string, error) { return []string{line, text}, nil },
	}
}

// ChangeID gives a request or response an id that no request has. The end that
// waits for the answer waits until its context ends. A notification has no id
// and is not changed.
func ChangeID() chaos.Fault {
	return rewrite{
		description: described("mcp_wrong_id", chaos.Explicit, chaos.Transient, chaos.EffectUnknown, nil),
		lines: func(_ chaos.Call, _ Message, text string) ([]string, error) {
			line, err := edited(text, func(members map[string]json.RawMessage) error {
				id, ok := members["id"]
				if !ok {
					return errors.New("the message has no id")
				}
				members["id"] = quoted("x" + strings.Trim(string(id), `"`)) // the SDKs count
				return nil
			})
			return []string{line}, err
		},
	}
}

// Oversize makes a message longer by a number of bytes, from 1 to 64 MiB. The
// padding is in the _meta of its parameters or result, which readers may
// ignore. The reader decides whether the message is too long: see
// [Options.MaxLine]. A protocol error has no _meta and is not changed.
func Oversize(bytes int) chaos.Fault {
	c := check{kind: "mcp_oversized"}
	c.that(bytes >= 1 && bytes <= maxBytes, "bytes", bytes, "a number from 1 to 67108864")
	return rewrite{
		description: described("mcp_oversized", chaos.Explicit, chaos.Permanent, chaos.EffectUnknown, struct {
			Bytes int `json:"bytes"`
		}{bytes}),
		problems: c.err(),
		lines: func(_ chaos.Call, _ Message, text string) ([]string, error) {
			line, err := edited(text, func(members map[string]json.RawMessage) error { return pad(members, bytes) })
			return []string{line}, err
		},
	}
}

// Cut breaks the connection at a message, which is lost: the SDK sees the other
// end close.
func Cut() chaos.Fault { return cut{} }

type cut struct{}

func (f cut) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.Fail(chaos.Call{})
}

func (cut) Fail(chaos.Call) error { return io.ErrUnexpectedEOF }

func (cut) Describe() chaos.Description {
	return described("mcp_cut", chaos.Explicit, chaos.Permanent, chaos.EffectUnknown, nil)
}

// FloodListChanged sends notifications after a message, from 1 to 10000, that
// the list of tools has changed, although it has not.
func FloodListChanged(count int) chaos.Fault {
	c := check{kind: "mcp_list_changed_flood"}
	c.that(count >= 1 && count <= maxFlood, "count", count, "a number from 1 to 10000")
	return rewrite{
		description: described("mcp_list_changed_flood", chaos.Implicit, chaos.Transient, chaos.EffectDone, struct {
			Count int `json:"count"`
		}{count}),
		problems: c.err(),
		lines: func(_ chaos.Call, _ Message, text string) ([]string, error) {
			lines := []string{text}
			for range count {
				lines = append(lines, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
			}
			return lines, nil
		},
	}
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
