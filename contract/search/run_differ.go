package search

import (
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// maxClip bounds a text in a message about a difference, in bytes.
const maxClip = 80

// A Trail is a run call by call, for comparing it with another.
type trail struct {
	calls   []callMark // in the order in which they began
	answers []uint64
	texts   []string // the answers
	states  []uint64 // 0: not known
	ends    []int    // the number of calls up to each answer
}

// A CallMark is one call and what its caller got.
type callMark struct {
	at     when.Coord
	got    uint64 // outcome and error
	result uint64 // 0: not kept
	text   string // outcome and error, for people
}

// TrailOf is the trail of a run.
func trailOf(observations []*contract.Observation) *trail {
	t := &trail{}
	for _, o := range observations {
		t.calls = append(t.calls, callMarksOf(o)...)
		answer := answerOf(o)
		t.answers = append(t.answers, hash.String(answer))
		t.texts = append(t.texts, answered(o))
		t.states = append(t.states, stateHash(o.After))
		t.ends = append(t.ends, len(t.calls))
	}
	return t
}

// CallsOf are the calls for a prompt.
func callMarksOf(o *contract.Observation) []callMark {
	calls := make([]callMark, 0, len(o.Events))
	for i := range o.Events {
		e := &o.Events[i]
		if e.Layer == "" {
			continue // InjectNow: no call
		}
		m := callMark{at: coordOf(e), text: gotten(e)}
		m.got = hash.String(m.text)
		if len(e.Result) > 0 {
			m.result = hash.Bytes(e.Result)
		}
		calls = append(calls, m)
	}
	return calls
}

// Gotten is how a call ended for its caller.
func gotten(e *chaos.Event) string {
	if e.Err == "" {
		return string(e.Outcome)
	}
	return string(e.Outcome) + ": " + e.Err
}

// answerOf is an answer with its error.
func answerOf(o *contract.Observation) string {
	if o.Err != nil {
		return o.Response + "\x00" + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// Answered is an answer for people, or the error in its place.
func answered(o *contract.Observation) string {
	if o.Err != nil {
		return "error: " + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// stateHash is a hash of a state as JSON; 0: it has none, or is not known.
func stateHash(state any) uint64 {
	if state == nil {
		return 0
	}
	doc, err := jsonvalue.Encode(state) // a state is the user's: it may have a MarshalJSON
	if err != nil {
		return 0
	}
	return hash.Bytes(doc)
}

// SameState reports whether two states are equal, or one of them is not known.
func sameState(a, b any) bool { return a == nil || b == nil || reflect.DeepEqual(a, b) }

// Differs says where another run first differs: in its calls, then in its answers, then
// in its end state. It is "" if they are the same as far as both are known: a cell that
// broke has no later prompts, and not every run keeps results and states.
func (t *trail) Differs(u *trail) string {
	first := 0
	for i := range min(len(t.answers), len(u.answers)) {
		a, b := t.calls[first:t.ends[i]], u.calls[min(first, u.ends[i]):u.ends[i]]
		first = t.ends[i]
		if d := callsDiffer(a, b); d != "" {
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
func callsDiffer(a, b []callMark) string {
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
func instead(i int, x, y *callMark) string {
	if x.at.Target == y.at.Target && x.at.Lane == y.at.Lane {
		return fmt.Sprintf("call %d: %s, with other arguments", i+1, x.at.Target)
	}
	return fmt.Sprintf("call %d: %s, then %s", i+1, x.at.Target, y.at.Target)
}

func byCoord(calls []callMark) map[when.Coord]*callMark {
	all := make(map[when.Coord]*callMark, len(calls))
	for i := range calls {
		all[calls[i].at] = &calls[i]
	}
	return all
}
