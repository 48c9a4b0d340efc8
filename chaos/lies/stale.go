package lies

import (
	"bytes"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Stale answers a request with the answer to the same request (target and key)
// lag calls ago, from 1 to 64: a cache, or a replica that is behind. With fewer
// earlier answers it takes the oldest.
//
// Like all lies about time it remembers the answers of the calls that its
// rule's trigger matched, in its injector; without a trigger these are all. If
// the answer has not changed since, it is not delivered.
func Stale(lag int) chaos.Fault { return stale("stale_result", lag, "") }

func stale(kind string, lag int, layer chaos.Layer) *recall {
	return &recall{kind: kind, layer: layer, lag: max(lag, 1), params: map[string]any{"lag": lag},
		check: func(c *param.Check) { c.That(lag >= 1 && lag <= maxLag, "lag", lag, "from 1 to 64") },
		wants: "there is no earlier answer that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			if past := m.past[now.of]; len(past) > 0 {
				return past[max(0, len(past)-max(lag, 1))], true
			}
			return answer{}, false
		}}
}

// Frozen answers a request with the first answer to it, as long as the rule
// lasts.
func Frozen() chaos.Fault {
	return &recall{kind: "frozen_result", lag: 1, first: true, wants: "there is no first answer that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			if past := m.past[now.of]; len(past) > 0 {
				return past[0], true
			}
			return answer{}, false
		}}
}

// Crossed answers a request with the last answer to another request of the same
// target, as a cache with a bad key or a connection out of step does. Calls are
// told apart by their key.
func Crossed() chaos.Fault {
	return &recall{kind: "crossed_result", lag: 1, wants: "there is no answer to another request that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			for k := len(m.order) - 1; k >= 0; k-- {
				if a := m.order[k]; a.of.target == now.of.target && a.of.key != now.of.key && !bytes.Equal(a.text, now.text) {
					return a, true
				}
			}
			return answer{}, false
		}}
}

// Replayed answers a request with one drawn from the last 256 answers of the
// same target, whatever the requests were: a message that is delivered again.
func Replayed() chaos.Fault {
	const saltReplay = saltSpot + 1
	return &recall{kind: "replayed_result", lag: 1, wants: "there is no old answer that differs",
		choose: func(m *memory, c chaos.Call, now answer) (answer, bool) {
			var old []answer
			for _, a := range m.order {
				if a.of.target == now.of.target && !bytes.Equal(a.text, now.text) {
					old = append(old, a)
				}
			}
			if len(old) == 0 {
				return answer{}, false
			}
			return old[int(c.Draw(saltReplay)*float64(len(old)))], true
		}}
}
