package mcpchaos

import (
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// Overtake delays a received message until a number of later messages, from 1 to
// 1000, have passed it. It waits for them for at most atMost, from a millisecond
// to an hour; if fewer come, the message is only late. Messages behind it are not
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
