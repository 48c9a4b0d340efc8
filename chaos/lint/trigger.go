package lint

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// trigger is what a trigger's description tells of the calls to try it with: the
// numbers, times and calls that it names. Its kind is empty if the parameters
// cannot be read.
type trigger struct {
	kind    string
	chances []float64       // its probabilities
	numbers []int64         // of calls or turns
	times   []time.Duration // at which its answer may change
	calls   []when.Coord    // an exact list
	parts   []trigger
}

func readTrigger(d chaos.Description) (t trigger) {
	var params map[string]json.RawMessage
	if len(d.Params) > 0 && json.Unmarshal(d.Params, &params) != nil {
		return trigger{}
	}
	t.kind = d.Kind
	for name, doc := range params {
		if !t.readParam(name, doc) {
			return trigger{}
		}
	}
	return t
}

func (t *trigger) readParam(name string, doc json.RawMessage) (ok bool) {
	switch name {
	case "enter", "leave": // of a chain: what counts is what it does in its states
		return true
	case "p", "good", "bad":
		var p float64
		ok = json.Unmarshal(doc, &p) == nil
		t.chances = append(t.chances, p)
		return ok
	case "parts":
		var parts []chaos.Description
		ok = json.Unmarshal(doc, &parts) == nil
		for _, part := range parts {
			t.parts = append(t.parts, readTrigger(part))
		}
		return ok
	case "stages":
		return t.readStages(doc)
	}
	var text string
	if json.Unmarshal(doc, &text) == nil {
		d, err := time.ParseDuration(text)
		t.times = append(t.times, d)
		return err == nil || t.kind == "args"
	}
	var number int64
	if json.Unmarshal(doc, &number) == nil {
		t.numbers = append(t.numbers, number)
		return true
	}
	var numbers []int64
	var calls []when.Coord
	switch {
	case json.Unmarshal(doc, &numbers) == nil:
		t.numbers = append(t.numbers, numbers...)
	case json.Unmarshal(doc, &calls) == nil:
		t.calls = append(t.calls, calls...)
	default:
		return t.kind == "lane" // whose globs only Match reads
	}
	return true
}

func (t *trigger) readStages(doc json.RawMessage) bool {
	var stages []struct {
		For   string
		Calls int64
		When  chaos.Description
	}
	if json.Unmarshal(doc, &stages) != nil {
		return false
	}
	begin := time.Duration(0)
	for _, s := range stages {
		d, err := time.ParseDuration(s.For)
		if s.For != "" && err != nil {
			return false
		}
		begin += d
		t.times, t.numbers, t.parts = append(t.times, begin), append(t.numbers, s.Calls),
			append(t.parts, readTrigger(s.When))
	}
	return true
}

// all lists the trigger and its parts, and theirs.
func (t trigger) all() []trigger {
	list := []trigger{t}
	for _, part := range t.parts {
		list = append(list, part.all()...)
	}
	return list
}

// settled reports whether the coordinates of a call alone decide: nothing is
// drawn, and no trigger of the user's own or one that reads the arguments is
// asked. lanes says that the lanes of all calls that can match are known.
func (t trigger) settled(lanes bool) bool {
	switch t.kind {
	case "always", "nth", "first", "after", "every", "burst", "intermittent", "early", "mid", "late", "between",
		"since",
		"turn", "turn_between", "exactly":
		return true
	case "lane":
		return lanes
	case "prob":
		return len(t.chances) == 1 && certain(t.chances)
	case "gilbert_elliott":
		return len(t.chances) == 2 && certain(t.chances)
	case "burst_within":
		return len(t.numbers) == 2 && t.numbers[0] == t.numbers[1]
	case "all", "any", "not", "stages":
		lanes = lanes ||
			t.kind == "all" && slices.ContainsFunc(t.parts, func(part trigger) bool { return part.kind == "exactly" })
		return len(t.parts) > 0 &&
			!slices.ContainsFunc(t.parts, func(part trigger) bool { return !part.settled(lanes) })
	}
	return false
}

// certain reports whether all probabilities are 0, or all are 1.
func certain(chances []float64) bool {
	return slices.Max(chances) <= 0 || slices.Min(chances) >= 1
}

// maxTried bounds how many calls a trigger is tried with.
const maxTried = 1 << 16

// A grid is the calls with which a trigger is tried: each ordinal below a number, at each
// time, in each turn, with what each of places says.
type grid struct {
	ordinals int64
	times    []time.Duration
	turns    []int
	places   []chaos.Call
}

// tooLarge reports whether the grid has more calls than are tried.
func (g grid) tooLarge() bool {
	return float64(g.ordinals)*float64(len(g.times))*float64(len(g.turns))*float64(len(g.places)) > maxTried
}

// answers reports whether the trigger matches some call of the grid, and whether all.
func (g grid) answers(w chaos.When) (some, all bool) {
	all = true
	for ordinal := range uint64(g.ordinals) {
		for _, at := range g.times {
			for _, turn := range g.turns {
				for _, c := range g.places {
					c.Ordinal, c.Turn = ordinal, turn
					matched := w.Match(c.AtElapsed(at))
					if some, all = some || matched, all && matched; some && !all {
						return some, all
					}
				}
			}
		}
	}
	return some, all
}

// allCalls are calls such that the trigger answers every other call of the rule as one of
// them.
func (r *rule) allCalls() grid {
	g := grid{times: []time.Duration{0}, turns: []int{0}}
	g.places = []chaos.Call{{Target: r.Target, Lane: "\x00"}} // stands for all that no list names
	ordinals, period := int64(1), int64(1)
	for _, t := range r.when.all() {
		g.times = append(g.times, t.times...)
		for _, c := range t.calls {
			if r.could(c) {
				g.places = append(g.places,
					chaos.Call{Lane: c.Lane, Target: c.Target, Key: c.Key, Occurrence: c.Occurrence})
			}
		}
		if t.kind == "turn" || t.kind == "turn_between" {
			for _, n := range t.numbers {
				g.turns = append(g.turns, int(n-1), int(n), int(n+1))
			}
			continue
		}
		sum := int64(0)
		for _, n := range t.numbers {
			sum = min(sum+min(max(n, 0), maxTried), maxTried)
		}
		ordinals = min(ordinals+sum, maxTried)
		if t.kind == "every" || t.kind == "intermittent" {
			period = common(period, max(sum, 1))
		}
	}
	slices.Sort(g.times)
	slices.Sort(g.turns)
	g.ordinals, g.times, g.turns = ordinals+period, slices.Compact(g.times), slices.Compact(g.turns)
	return g
}

// common returns the least common multiple, at most math.MaxInt32.
func common(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return min(a/x*b, math.MaxInt32)
}

// could reports whether a call of an exact list can be one of the rule's. In a
// group no call has a key.
func (r *rule) could(c when.Coord) bool {
	return (r.glob == nil || r.glob.Match(c.Target)) && (r.Group == "" || c.Key == 0)
}

// verdict reports whether the rule's trigger can match no call, and whether it
// matches all calls.
func (r *rule) verdict() (never, always bool) {
	if r.When == nil {
		return false, true
	}
	if !r.when.settled(false) {
		return false, false
	}
	g := r.allCalls()
	if g.tooLarge() {
		return false, false
	}
	some, always := g.answers(r.When)
	return !some, always
}
