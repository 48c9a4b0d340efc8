package when

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// A Coord identifies one call, whatever the order of calls: the n-th (from 0)
// with the same arguments in its lane to its target. The fields are those of
// [chaos.Event]; an event's four fields identify its call. In JSON the numbers
// are decimal strings, since not every reader keeps 64 bits.
type Coord struct {
	Lane       string `json:"lane,omitempty"`
	Target     string `json:"target"`
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
}

// Exactly matches the calls of a list and no others; at least one call. It
// repeats a set of faults that was once drawn, without the probabilities.
//
// In a rule with a group calls have no key of their own: see
// [chaos.Rule.Group].
func Exactly(calls ...Coord) chaos.When {
	w := exactly{list: slices.Clone(calls), set: make(map[Coord]struct{}, len(calls))}
	for _, call := range calls {
		w.set[call] = struct{}{}
	}
	return w
}

type exactly struct {
	list []Coord // as given, for its description
	set  map[Coord]struct{}
}

func (w exactly) Match(c chaos.Call) bool {
	_, ok := w.set[Coord{c.Lane, c.Target, c.Key, c.Occurrence}]
	return ok
}

func (w exactly) Check() error {
	c := param.Check{Kind: "exactly"}
	c.That(len(w.list) > 0, "calls", w.list, "at least one call")
	for i, call := range w.list {
		c.That(call.Target != "", fmt.Sprintf("calls[%d].target", i), `""`, "the name of an injection point")
	}
	return c.Err()
}

func (w exactly) Describe() chaos.Description {
	return describe("exactly", struct {
		Calls []Coord `json:"calls"`
	}{w.list})
}

// Lane matches the calls of the lanes whose names match one of the globs, in
// the syntax of [chaos.Rule.Target]. The empty string stands for the default
// lane. At least one glob.
func Lane(globs ...string) chaos.When {
	w := lane{names: slices.Clone(globs)}
	for _, name := range globs {
		if name == "" {
			w.unnamed = true
			continue
		}
		if g, err := glob.Compile(name); err == nil {
			w.globs = append(w.globs, g)
		}
	}
	return w
}

type lane struct {
	names   []string
	globs   []*glob.Glob // of the names that are well formed and not empty
	unnamed bool
}

func (w lane) Match(c chaos.Call) bool {
	if c.Lane == "" && w.unnamed {
		return true
	}
	for _, g := range w.globs {
		if g.Match(c.Lane) {
			return true
		}
	}
	return false
}

func (w lane) Check() error {
	c := param.Check{Kind: "lane"}
	c.That(len(w.names) > 0, "lanes", w.names, "at least one glob")
	for _, name := range w.names {
		if name == "" {
			continue
		}
		if _, err := glob.Compile(name); err != nil {
			c.That(false, "lanes", fmt.Sprintf("%q (%v)", name, err), `a glob over names of lanes, such as "worker-*"`)
		}
	}
	return c.Err()
}

func (w lane) Describe() chaos.Description {
	return describe("lane", struct {
		Lanes []string `json:"lanes"`
	}{w.names})
}

// Turn matches the calls in the agent's turns of these numbers, as set by
// [chaos.WithTurn]; calls outside any turn have turn 0. At least one number.
func Turn(n ...int) chaos.When { return turn{slices.Clone(n)} }

type turn struct{ n []int }

func (w turn) Match(c chaos.Call) bool { return slices.Contains(w.n, c.Turn) }

func (w turn) Check() error {
	c := param.Check{Kind: "turn"}
	c.That(len(w.n) > 0, "n", w.n, "at least one turn")
	return c.Err()
}

func (w turn) Describe() chaos.Description {
	return describe("turn", struct {
		N []int `json:"n"`
	}{w.n})
}

// TurnBetween matches the calls in the agent's turns from first to last, both
// included; first is at most last.
func TurnBetween(first, last int) chaos.When { return turnBetween{first, last} }

type turnBetween struct{ first, last int }

func (w turnBetween) Match(c chaos.Call) bool { return w.first <= c.Turn && c.Turn <= w.last }

func (w turnBetween) Check() error {
	c := param.Check{Kind: "turn_between"}
	c.That(w.first <= w.last, "last", w.last, fmt.Sprintf("a turn not before first, which is %d", w.first))
	return c.Err()
}

func (w turnBetween) Describe() chaos.Description {
	return describe("turn_between", struct {
		First int `json:"first"`
		Last  int `json:"last"`
	}{w.first, w.last})
}
