package lies

import (
	"bytes"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Stale answers a request with the answer to the same request (target and key)
// lag calls ago, from 1 to 64: a cache, or a replica that is behind. With fewer
// earlier answers it takes the oldest.
//
// Like all lies about time it remembers the answers of the calls that its
// rule's trigger matched, in its injector; without a trigger these are all. If
// the answer has not changed since, it is not delivered.
func Stale(lag int) chaos.Fault { return staleRow.Of(earlier{Lag: lag}) }

var staleRow = recallRow(catalog.Row{
	Kind: "stale_result", Doc: "The answer is that of an earlier, equal call.",
	Go: "lies.Stale(lag)", Example: `{"lag":1}`, Class: chaos.ClassValue,
}, func(p earlier) recall { return behind(p.Lag) })

// earlier are the parameters of Stale and RollBack.
type earlier struct {
	Lag int `json:"lag" bounds:"min=1,max=64" doc:"number of calls that the answer is behind"`
}

func behind(lag int) recall {
	return recall{lag: max(lag, 1), wants: "there is no earlier answer that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			if past := m.past[now.of]; len(past) > 0 {
				return past[max(0, len(past)-max(lag, 1))], true
			}
			return answer{}, false
		}}
}

// Frozen answers a request with the first answer to it, as long as the rule
// lasts.
func Frozen() chaos.Fault { return frozenRow.Of(catalog.None{}) }

var frozenRow = recallRow(catalog.Row{
	Kind: "frozen_result", Doc: "The first answer is repeated for good.", Go: "lies.Frozen()", Class: chaos.ClassValue,
}, func(catalog.None) recall {
	return recall{lag: 1, first: true, wants: "there is no first answer that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			if past := m.past[now.of]; len(past) > 0 {
				return past[0], true
			}
			return answer{}, false
		}}
})

// Crossed answers a request with the last answer to another request of the same
// target, as a cache with a bad key or a connection out of step does. Calls are
// told apart by their key.
func Crossed() chaos.Fault { return crossedRow.Of(catalog.None{}) }

var crossedRow = recallRow(catalog.Row{
	Kind: "crossed_result", Doc: "The answer belongs to another request.",
	Go: "lies.Crossed()", Class: chaos.ClassValue,
}, func(catalog.None) recall {
	return recall{lag: 1, wants: "there is no answer to another request that differs",
		choose: func(m *memory, _ chaos.Call, now answer) (answer, bool) {
			for k := len(m.order) - 1; k >= 0; k-- {
				if a := m.order[k]; a.of.target == now.of.target && a.of.key != now.of.key &&
					!bytes.Equal(a.text, now.text) {
					return a, true
				}
			}
			return answer{}, false
		}}
})

// Replayed answers a request with one drawn from the last 256 answers of the
// same target, whatever the requests were: a message that is delivered again.
func Replayed() chaos.Fault { return replayedRow.Of(catalog.None{}) }

var replayedRow = recallRow(catalog.Row{
	Kind: "replayed_result", Doc: "The answer is an old one of the same target.",
	Go: "lies.Replayed()", Class: chaos.ClassValue,
}, func(catalog.None) recall {
	const saltReplay = saltSpot + 1
	return recall{lag: 1, wants: "there is no old answer that differs",
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
})
