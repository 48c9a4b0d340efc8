package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/nearest"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// maxShown bounds what a difference shows of either run, in bytes.
const maxShown = 80

// A Difference is where two runs under equal faults first differ.
type Difference struct {
	// Prompt is the number of the prompt, from 1, and Text the prompt.
	Prompt int    `json:"prompt"`
	Text   string `json:"text"`
	// What differs: "call" (one run makes it, the other does not), "arguments", "result",
	// "answer" or "state".
	What string `json:"what"`
	// Call is the number of the call among those of the prompt, from 1, and Target its
	// injection point; 0 and empty for an answer or a state.
	Call   int    `json:"call,omitempty"`
	Target string `json:"target,omitempty"`
	// Path is the place in the arguments, the result or the state, a JSON pointer (RFC
	// 6901), where that is known.
	Path string `json:"path,omitempty"`
	// First and Second are what the two runs have there.
	First  string `json:"first"`
	Second string `json:"second"`
}

// String is the difference in one line.
func (d *Difference) String() string {
	where := d.What
	switch d.What {
	case "call":
		where = fmt.Sprintf("call %d", d.Call)
	case "arguments", "result":
		where = fmt.Sprintf("call %d, %s: %s", d.Call, d.Target, d.What)
	case "state":
		where = "end state"
	}
	if d.Path != "" {
		where += " at " + d.Path
	}
	return fmt.Sprintf("prompt %d, %s: %s, then %s", d.Prompt, where, text.Clip(d.First, maxShown),
		text.Clip(d.Second, maxShown))
}

func (d *Difference) redacted(o *Options) *Difference {
	if d != nil {
		secrets := redact.New(o.Secrets, redact.Patterns)
		for _, s := range []*string{&d.Text, &d.Path, &d.First, &d.Second} {
			*s = secrets.Text(*s)
		}
	}
	return d
}

// differenceOf compares two runs; nil: they are the same. Where one is a cell as a report has it,
// it may lack later prompts, and its states are what JSON shows of them.
func differenceOf(a, b []*contract.Observation, cell bool) *Difference {
	n := min(len(a), len(b))
	for i := range n {
		d := &Difference{Prompt: i + 1, Text: a[i].Prompt}
		if d.ofCalls(a[i].Events, b[i].Events) || d.ofAnswers(a[i], b[i]) || d.ofStates(a[i].After, b[i].After, cell) {
			return d
		}
	}
	if !cell && len(a) != len(b) {
		answers := map[bool]string{true: "an answer", false: "none"}
		return &Difference{Prompt: n + 1, What: "answer", First: answers[n < len(a)], Second: answers[n < len(b)]}
	}
	return nil
}

// ofCalls looks for the first call of either run that the other lacks, or that got
// something else there. A call is the same as that of equal coordinates, wherever it stands:
// calls that overlap begin in any order.
func (d *Difference) ofCalls(a, b []chaos.Event) bool {
	first, second := callsOf(a), callsOf(b)
	for i, x := range first.calls {
		d.Call, d.Target = i+1, x.Target
		y := second.byCoord[coordOf(x)]
		switch {
		case y == nil:
			d.missing(x, first, second)
			return true
		case gotten(x) != gotten(y):
			d.What, d.First, d.Second = "result", gotten(x), gotten(y)
			return true
		case len(x.Result) > 0 && len(y.Result) > 0 && d.ofJSON("result", x.Result, y.Result):
			return true
		}
	}
	for i, y := range second.calls {
		if first.byCoord[coordOf(y)] == nil {
			d.What, d.Call, d.Target, d.First, d.Second = "call", i+1, y.Target, "none", y.Target
			return true
		}
	}
	d.Call, d.Target = 0, ""
	return false
}

// promptCalls are the calls for a prompt, without what was injected without a call.
type promptCalls struct {
	calls   []*chaos.Event
	byCoord map[when.Coord]*chaos.Event
}

func callsOf(events []chaos.Event) promptCalls {
	c := promptCalls{byCoord: make(map[when.Coord]*chaos.Event, len(events))}
	for i := range events {
		if e := &events[i]; e.Layer != "" {
			c.calls = append(c.calls, e)
			c.byCoord[coordOf(e)] = e
		}
	}
	return c
}

// missing says of a call that the other run lacks with what arguments that made the call
// of its number, or that it made none.
func (d *Difference) missing(x *chaos.Event, first, second promptCalls) {
	d.What, d.First, d.Second = "call", x.Target, "none"
	for _, y := range second.calls {
		if y.Lane == x.Lane && y.Target == x.Target && y.Ordinal == x.Ordinal && first.byCoord[coordOf(y)] == nil {
			d.What, d.First, d.Second = "arguments", "some", "others"
			d.ofJSON("arguments", x.Args, y.Args)
			return
		}
	}
}

func (d *Difference) ofAnswers(a, b *contract.Observation) bool {
	d.What, d.First, d.Second = "answer", answered(a), answered(b)
	return answerOf(a) != answerOf(b)
}

func (d *Difference) ofStates(a, b any, cell bool) bool {
	if sameState(a, b) {
		return false
	}
	x, err := jsonvalue.Encode(a) // a state is the user's: it may have a MarshalJSON
	y, other := jsonvalue.Encode(b)
	if err == nil && other == nil && d.ofJSON("state", x, y) {
		return true
	}
	d.What, d.Path, d.First, d.Second = "state", "", fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)
	return !cell
}

// gotten is how a call ended for its caller.
func gotten(e *chaos.Event) string {
	if e.Err == "" {
		return string(e.Outcome)
	}
	return string(e.Outcome) + ": " + e.Err
}

func answerOf(o *contract.Observation) string {
	if o.Err != nil {
		return o.Response + "\x00" + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// answered is an answer for people, or the error in its place.
func answered(o *contract.Observation) string {
	if o.Err != nil {
		return "error: " + usercode.ErrorText(o.Err)
	}
	return o.Response
}

// sameState reports whether two states are equal, or one of them is not known.
func sameState(a, b any) bool { return a == nil || b == nil || reflect.DeepEqual(a, b) }

// ofJSON looks for the first place in which two documents differ.
func (d *Difference) ofJSON(what string, a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return false
	}
	if !json.Valid(a) || !json.Valid(b) {
		d.What, d.First, d.Second = what, string(a), string(b)
		return true
	}
	path, p, q, differ := nearest.First(a, b)
	if differ {
		d.What, d.Path, d.First, d.Second = what, path, p, q
	}
	return differ
}

// Repeat runs each prompt list of the matrix twice without faults and returns where the
// two runs first differ; nil: they were the same. It compares the calls, by lane, target,
// arguments and what the caller got, then the answers and the end states. Times
// play no part, and neither does the order of calls.
//
// The budget of o may be left out: two runs a prompt list are made. Errors are those of
// [Sweep].
func Repeat(ctx context.Context, m *contract.Matrix, o *Options) (*Difference, error) {
	own := *cmp.Or(o, &Options{})
	if !own.Budget.Set() {
		own.Budget.Runs = math.MaxInt
	}
	checked, err := own.checked(m)
	if err != nil {
		return nil, err
	}
	runner, err := checked.runner(ctx, m, toCompare)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	runs := newLockstep(runner, checked, func(_ runRequest, r *contract.Result) *runDigest {
		return &runDigest{runCalls: &runCalls{shown: r.Observations}}
	})
	lists := promptListsOf(m)
	for _, l := range lists {
		l.Cell.Scenario = "(calm)" // no name of one in a matrix
	}
	if err := calmTwice(ctx, runs, lists); err != nil {
		return nil, err
	}
	for _, l := range lists {
		if l.calm[1] != nil {
			if d := differenceOf(l.calm[0].shown, l.calm[1].shown, false); d != nil {
				return d.redacted(checked), nil
			}
		}
	}
	if runs.Cut != "" {
		return nil, fmt.Errorf("search: Repeat was stopped before it was done: %s", runs.Cut)
	}
	return nil, nil
}
