package when

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/glob"
)

var placeRows = []*catalog.Row{exactlyRow, laneRow, turnRow, turnBetweenRow}

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
	w := exactly{callList{slices.Clone(calls)}, make(map[Coord]struct{}, len(calls))}
	for _, call := range calls {
		w.set[call] = struct{}{}
	}
	return w
}

var exactlyRow = catalog.Trigger(catalog.Row{
	Kind: "exactly", Doc: "The calls of a list and no others.",
	Go: "when.Exactly(calls...)", Example: `{"calls":[{"target":"refund","key":"17","occurrence":"1"}]}`,
}, func(p callList) chaos.When { return Exactly(p.Calls...) })

type callList struct {
	Calls []Coord `json:"calls" bounds:"min=1" allowed:"at least one call" doc:"the calls, by their coordinates"`
}

type exactly struct {
	callList
	set map[Coord]struct{}
}

func (w exactly) Match(c chaos.Call) bool {
	_, ok := w.set[Coord{c.Lane, c.Target, c.Key, c.Occurrence}]
	return ok
}

func (w exactly) Check() error {
	c := exactlyRow.Check(w.callList)
	for i, call := range w.Calls {
		c.That(call.Target != "", fmt.Sprintf("calls[%d].target", i), `""`, "the name of an injection point")
	}
	return c.Err()
}

func (w exactly) Describe() chaos.Description { return exactlyRow.Describe(w.callList) }

// Lane matches the calls of the lanes whose names match one of the globs, in
// the syntax of [chaos.Rule.Target]. The empty string stands for the default
// lane. At least one glob.
func Lane(globs ...string) chaos.When {
	w := lane{laneNames: laneNames{slices.Clone(globs)}}
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

var laneRow = catalog.Trigger(catalog.Row{
	Kind: "lane", Doc: "The calls of some lanes.", Go: "when.Lane(globs...)", Example: `{"lanes":["worker-*"]}`,
}, func(p laneNames) chaos.When { return Lane(p.Lanes...) })

type laneNames struct {
	Lanes []string `json:"lanes" bounds:"min=1" allowed:"at least one glob" doc:"globs over names of lanes; the empty one stands for the default lane"`
}

type lane struct {
	laneNames
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
	c := laneRow.Check(w.laneNames)
	for _, name := range w.Lanes {
		if name == "" {
			continue
		}
		if _, err := glob.Compile(name); err != nil {
			c.That(false, "lanes", fmt.Sprintf("%q (%v)", name, err), `a glob over names of lanes, such as "worker-*"`)
		}
	}
	return c.Err()
}

func (w lane) Describe() chaos.Description { return laneRow.Describe(w.laneNames) }

// Turn matches the calls in the agent's turns of these numbers, as set by
// [chaos.WithTurn]; calls outside any turn have turn 0. At least one number.
func Turn(n ...int) chaos.When { return turn{turnNumbers{slices.Clone(n)}} }

var turnRow = catalog.Trigger(catalog.Row{
	Kind: "turn", Doc: "The calls of some turns of the agent.", Go: "when.Turn(n...)", Example: `{"n":[2]}`,
}, func(p turnNumbers) chaos.When { return turn{p} })

type turnNumbers struct {
	N []int `json:"n" bounds:"min=1" allowed:"at least one turn" doc:"turns of the agent"`
}

type turn struct{ turnNumbers }

func (w turn) Match(c chaos.Call) bool     { return slices.Contains(w.N, c.Turn) }
func (w turn) Check() error                { return turnRow.Check(w.turnNumbers).Err() }
func (w turn) Describe() chaos.Description { return turnRow.Describe(w.turnNumbers) }

// TurnBetween matches the calls in the agent's turns from first to last, both
// included; first is at most last.
func TurnBetween(first, last int) chaos.When { return turnBetween{turnRange{first, last}} }

var turnBetweenRow = catalog.Trigger(catalog.Row{
	Kind: "turn_between", Doc: "The calls of a range of turns.", Go: "when.TurnBetween(first, last)",
	Example: `{"first":2,"last":4}`,
}, func(p turnRange) chaos.When { return turnBetween{p} })

type turnRange struct {
	First int `json:"first"`
	Last  int `json:"last" doc:"not before first"`
}

type turnBetween struct{ turnRange }

func (w turnBetween) Match(c chaos.Call) bool { return w.First <= c.Turn && c.Turn <= w.Last }

func (w turnBetween) Check() error {
	c := turnBetweenRow.Check(w.turnRange)
	c.That(w.First <= w.Last, "last", w.Last, fmt.Sprintf("a turn not before first, which is %d", w.First))
	return c.Err()
}

func (w turnBetween) Describe() chaos.Description { return turnBetweenRow.Describe(w.turnRange) }
