package when

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
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
func Exactly(calls ...Coord) chaos.When { return exactly.Of(callList{Calls: slices.Clone(calls)}) }

var exactly = &catalog.Match[callList]{
	Row: catalog.Row{Kind: "exactly", Doc: "The calls of a list and no others.", Go: "when.Exactly(calls...)",
		Example: `{"calls":[{"target":"refund","key":"17","occurrence":"1"}]}`},
	Prepare: func(p callList) callList {
		p.set = make(map[Coord]struct{}, len(p.Calls))
		for _, call := range p.Calls {
			p.set[call] = struct{}{}
		}
		return p
	},
	Match: func(p callList, c chaos.Call) bool {
		_, ok := p.set[Coord{c.Lane, c.Target, c.Key, c.Occurrence}]
		return ok
	},
}

type callList struct {
	Calls []Coord `json:"calls" bounds:"min=1" allowed:"at least one call" doc:"the calls, by their coordinates"`
	set   map[Coord]struct{}
}

func (p callList) Check(c *catalog.Check) {
	for i, call := range p.Calls {
		c.That(call.Target != "", fmt.Sprintf("calls[%d].target", i), `""`, "the name of an injection point")
	}
}

// Lane matches the calls of the lanes whose names match one of the globs, in
// the syntax of [chaos.Rule.Target]. The empty string stands for the default
// lane. At least one glob.
func Lane(globs ...string) chaos.When { return lane.Of(laneNames{Lanes: slices.Clone(globs)}) }

var lane = &catalog.Match[laneNames]{
	Row: catalog.Row{Kind: "lane", Doc: "The calls of some lanes.", Go: "when.Lane(globs...)",
		Example: `{"lanes":["worker-*"]}`},
	Prepare: func(p laneNames) laneNames {
		for _, name := range p.Lanes {
			if g, err := glob.Compile(name); name != "" && err == nil {
				p.globs = append(p.globs, g)
			}
		}
		return p
	},
	Match: func(p laneNames, c chaos.Call) bool {
		if c.Lane == "" && slices.Contains(p.Lanes, "") {
			return true
		}
		return slices.ContainsFunc(p.globs, func(g *glob.Glob) bool { return g.Match(c.Lane) })
	},
}

type laneNames struct {
	Lanes []string     `json:"lanes" bounds:"min=1" allowed:"at least one glob" doc:"globs over names of lanes; the empty one stands for the default lane"`
	globs []*glob.Glob // of the names that are well formed and not empty
}

func (p laneNames) Check(c *catalog.Check) {
	for _, name := range p.Lanes {
		if _, err := glob.Compile(name); name != "" && err != nil {
			c.That(false, "lanes", fmt.Sprintf("%q (%v)", name, err), `a glob over names of lanes, such as "worker-*"`)
		}
	}
}

// Turn matches the calls in the agent's turns of these numbers, as set by
// [chaos.WithTurn]; calls outside any turn have turn 0. At least one number.
func Turn(n ...int) chaos.When { return turn.Of(turnNumbers{slices.Clone(n)}) }

var turn = &catalog.Match[turnNumbers]{
	Row: catalog.Row{Kind: "turn", Doc: "The calls of some turns of the agent.", Go: "when.Turn(n...)",
		Example: `{"n":[2]}`},
	Match: func(p turnNumbers, c chaos.Call) bool { return slices.Contains(p.N, c.Turn) },
}

type turnNumbers struct {
	N []int `json:"n" bounds:"min=1" allowed:"at least one turn" doc:"turns of the agent"`
}

// TurnBetween matches the calls in the agent's turns from first to last, both
// included; first is at most last.
func TurnBetween(first, last int) chaos.When { return turnBetween.Of(turnRange{first, last}) }

var turnBetween = &catalog.Match[turnRange]{
	Row: catalog.Row{Kind: "turn_between", Doc: "The calls of a range of turns.", Go: "when.TurnBetween(first, last)",
		Example: `{"first":2,"last":4}`},
	Match: func(p turnRange, c chaos.Call) bool { return p.First <= c.Turn && c.Turn <= p.Last },
}

type turnRange struct {
	First int `json:"first"`
	Last  int `json:"last" doc:"not before first"`
}

func (p turnRange) Check(c *catalog.Check) {
	c.That(p.First <= p.Last, "last", p.Last, fmt.Sprintf("a turn not before first, which is %d", p.First))
}

// Args matches the calls whose arguments satisfy pred. The name says in reports
// what pred looks for. Name and pred are required.
//
// T is the type of the wrapped function's argument. If the arguments are JSON,
// as those of tools are, T may also be a Go type into which they are decoded,
// [any] included; empty arguments decode like null. Arguments of another type,
// or that do not decode into T, do not match. Neither does a call without
// arguments ([chaos.Injector.InjectNow]).
//
// pred must be a pure function, safe for concurrent use, and must not change
// its argument. A panic of pred reaches the caller. Decoding costs what
// encoding/json costs, on every call to a target that the rule covers.
func Args[T any](name string, pred func(T) bool) chaos.When {
	p := predicate{Name: name, Type: reflect.TypeFor[T]().String()}
	if pred != nil {
		p.pred = func(v any) bool {
			t, ok := fit[T](v)
			return ok && pred(t)
		}
	}
	return args.Of(p)
}

var args = &catalog.Match[predicate]{
	Row: catalog.Row{Kind: "args", Doc: "Calls whose arguments satisfy a Go function.", Go: "when.Args(name, pred)",
		Example: `{"name":"is seven","type":"int"}`, InCode: true},
	Match:     func(predicate, chaos.Call) bool { return false }, // called only if there are no arguments
	MatchArgs: func(p predicate, _ chaos.Call, v any) bool { return p.pred != nil && v != nil && p.pred(v) },
}

type predicate struct {
	Name string `json:"name" doc:"what the function looks for or does"`
	Type string `json:"type" doc:"the Go type that it takes"`
	pred func(any) bool
}

func (p predicate) Check(c *catalog.Check) {
	c.That(p.Name != "", "name", `""`, "a name that says what pred looks for")
	c.That(p.pred != nil, "pred", nil, "a function")
}

// fit converts arguments to T: either they have that type, or they are JSON that
// decodes into T. An interface type would also accept the JSON itself; the decoded
// value is preferred.
func fit[T any](v any) (t T, ok bool) {
	if t, ok := v.(T); ok && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return t, true
	}
	return decode[T](v)
}

// decode is apart from fit because its result is on the heap.
func decode[T any](v any) (t T, ok bool) {
	if b, ok := v.(jsonvalue.Boxed); ok {
		if t, ok = b.Unbox().(T); ok {
			return t, ok
		}
	}
	doc, isText := jsonvalue.Text(v)
	switch {
	case !isText:
		t, ok = v.(T)
	case len(doc) == 0:
		ok = true
	default:
		ok = json.Unmarshal(doc, &t) == nil
	}
	return t, ok
}
