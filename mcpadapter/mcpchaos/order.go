package mcpchaos

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// Overtake holds a received message back until later messages, from 1 to 1000,
// have passed it. It waits for them for at most atMost, from a millisecond to
// an hour; if fewer come, the message is only late. Messages behind it are not
// delayed. A sent message is not changed: wrap the end that reads it.
func Overtake(by int, atMost time.Duration) chaos.Fault {
	c := check{kind: "mcp_overtaken"}
	c.that(by >= 1 && by <= maxCopies, "by", by, "a number from 1 to 1000")
	c.that(atMost >= time.Millisecond && atMost <= maxWait, "atMost", atMost, "a duration from 1ms to 1h")
	d := described("mcp_overtaken", chaos.Implicit, chaos.Transient, chaos.EffectUnknown, struct {
		By     int    `json:"by"`
		AtMost string `json:"atMost"`
	}{by, atMost.String()})
	d.Class = chaos.ClassTiming
	return rewrite{description: d, problems: c.err(), receivedOnly: true,
		lines: func(_ chaos.Call, m Message, text string) ([]string, error) {
			if m.postpone == nil {
				return nil, errors.New("the message was made by another fault")
			}
			m.postpone.behind, m.postpone.atMost = by, atMost
			return []string{text}, nil
		}}
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
