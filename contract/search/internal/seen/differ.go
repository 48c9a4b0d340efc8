package seen

import (
	"fmt"

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

// CallsDiffer says which call of two lists differs first.
func CallsDiffer(a, b []CallMark) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return fmt.Sprintf("call %d: %s, then none", i+1, a[i].target)
		case i >= len(a):
			return fmt.Sprintf("call %d: none, then %s", i+1, b[i].target)
		}
		x, y := &a[i], &b[i]
		switch {
		case x.target != y.target || x.lane != y.lane:
			return fmt.Sprintf("call %d: %s, then %s", i+1, x.target, y.target)
		case x.key != y.key:
			return fmt.Sprintf("call %d: %s, with other arguments", i+1, x.target)
		case x.got != y.got:
			return fmt.Sprintf("call %d: %s, which got %s, then %s", i+1, x.target,
				text.Quote(x.text, maxClip), text.Quote(y.text, maxClip))
		case x.result != y.result && x.result != 0 && y.result != 0:
			return fmt.Sprintf("call %d: %s, with another result", i+1, x.target)
		}
	}
	return ""
}
