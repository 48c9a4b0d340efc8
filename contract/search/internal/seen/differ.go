package seen

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/text"
)

// maxClip bounds a text in a message about a difference, in bytes.
const maxClip = 80

// Differs says where another run first differs: in its calls, then in its answers, then
// in its end state. It is "" if they are the same as far as both are known: a cell that
// broke has no later prompts, and not every run keeps results and states.
func (t *Trail) Differs(u *Trail) string {
	first := 0
	for i := range min(len(t.answers), len(u.answers)) {
		a, b := t.calls[first:t.ends[i]], u.calls[min(first, u.ends[i]):u.ends[i]]
		first = t.ends[i]
		if d := CallsDiffer(a, b); d != "" {
			return d
		}
		if t.answers[i] != u.answers[i] {
			return fmt.Sprintf("answer %d: %s, then %s", i+1, text.Quote(t.texts[i], maxClip),
				text.Quote(u.texts[i], maxClip))
		}
		if x, y := t.states[i], u.states[i]; x != y && x != 0 && y != 0 {
			return fmt.Sprintf("the end state after prompt %d", i+1)
		}
	}
	return ""
}

// CallsDiffer says which call of two lists differs first. A call is the same as that of equal
// coordinates, wherever it stands: calls that overlap begin in any order.
func CallsDiffer(a, b []CallMark) string {
	first, second := byCoord(a), byCoord(b)
	for i := range a {
		x, y := &a[i], second[a[i].at]
		switch {
		case y == nil && i < len(b) && first[b[i].at] == nil:
			return instead(i, x, &b[i])
		case y == nil:
			return fmt.Sprintf("call %d: %s, then none", i+1, x.at.Target)
		case x.got != y.got:
			return fmt.Sprintf("call %d: %s, which got %s, then %s", i+1, x.at.Target,
				text.Quote(x.text, maxClip), text.Quote(y.text, maxClip))
		case x.result != y.result && x.result != 0 && y.result != 0:
			return fmt.Sprintf("call %d: %s, with another result", i+1, x.at.Target)
		}
	}
	for i := range b {
		if first[b[i].at] == nil {
			return fmt.Sprintf("call %d: none, then %s", i+1, b[i].at.Target)
		}
	}
	return ""
}

// instead says of two calls at one place that neither run has the other's.
func instead(i int, x, y *CallMark) string {
	if x.at.Target == y.at.Target && x.at.Lane == y.at.Lane {
		return fmt.Sprintf("call %d: %s, with other arguments", i+1, x.at.Target)
	}
	return fmt.Sprintf("call %d: %s, then %s", i+1, x.at.Target, y.at.Target)
}

func byCoord(calls []CallMark) map[when.Coord]*CallMark {
	all := make(map[when.Coord]*CallMark, len(calls))
	for i := range calls {
		all[calls[i].at] = &calls[i]
	}
	return all
}
