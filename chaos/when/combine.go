package when

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var combineRows = []*catalog.Row{allRow, anyRow, notRow}

type parts struct {
	Parts []chaos.When `json:"parts" bounds:"min=1" allowed:"at least one trigger" doc:"triggers that draw independently"`
}

// onePart is parts with other bounds.
type onePart struct {
	Parts []chaos.When `json:"parts" bounds:"min=1,max=1" allowed:"one trigger" doc:"the trigger, a list of one"`
}

// All matches the calls that every part matches. The parts draw independently:
// All(Prob(0.5), Prob(0.5)) matches a quarter of the calls. At least one part.
func All(parts ...chaos.When) chaos.When { return combine(combined{stop: false, then: false}, parts) }

var allRow = catalog.Trigger(catalog.Row{
	Kind: "all", Doc: "The calls that all parts match.", Go: "when.All(parts...)",
	Example: `{"parts":[{"kind":"after","params":{"n":2}},{"kind":"prob","params":{"p":0.5}}]}`,
}, func(p parts) chaos.When { return All(p.Parts...) })

// Any matches the calls that at least one part matches. The parts draw
// independently. At least one part.
func Any(parts ...chaos.When) chaos.When { return combine(combined{stop: true, then: true}, parts) }

var anyRow = catalog.Trigger(catalog.Row{
	Kind: "any", Doc: "The calls that one of the parts matches.", Go: "when.Any(parts...)",
	Example: `{"parts":[{"kind":"nth","params":{"n":[1]}},{"kind":"every","params":{"n":10}}]}`,
}, func(p parts) chaos.When { return Any(p.Parts...) })

// Not matches the calls that part does not match.
func Not(part chaos.When) chaos.When { return not(part) }

func not(part ...chaos.When) chaos.When { return combine(combined{stop: false, then: true}, part) }

var notRow = catalog.Trigger(catalog.Row{
	Kind: "not", Doc: "The calls that the part does not match.", Go: "when.Not(part)",
	Example: `{"parts":[{"kind":"first","params":{"n":1}}]}`,
}, func(p onePart) chaos.When { return not(p.Parts...) })

// combine makes an ArgsWhen only if a part needs the arguments, since those
// cost an allocation on every call.
func combine(w combined, parts []chaos.When) chaos.When {
	w.Parts = slices.Clone(parts)
	for _, part := range parts {
		if _, ok := part.(chaos.ArgsWhen); ok {
			return combinedArgs{w}
		}
	}
	return w
}

// combined asks its parts in order until one answers stop. Its own answer is
// then the value of then, otherwise the opposite. A nil part never matches, and
// Check reports it.
type combined struct {
	parts
	stop, then bool
}

// row tells the three apart by the answers that they stop at and give.
func (w combined) row() *catalog.Row {
	switch {
	case !w.then:
		return allRow
	case w.stop:
		return anyRow
	}
	return notRow
}

func (w combined) params() any {
	if w.row() == notRow {
		return onePart(w.parts)
	}
	return w.parts
}

func (w combined) Match(c chaos.Call) bool {
	for i, part := range w.Parts {
		if (part != nil && part.Match(c.Sub(i))) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.Parts) > 0
}

type combinedArgs struct{ combined }

func (w combinedArgs) MatchArgs(c chaos.Call, args any) bool {
	for i, part := range w.Parts {
		if matchArgs(part, c.Sub(i), args) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.Parts) > 0
}

func matchArgs(part chaos.When, c chaos.Call, args any) bool {
	if a, ok := part.(chaos.ArgsWhen); ok {
		return a.MatchArgs(c, args)
	}
	return part != nil && part.Match(c)
}

// Check joins the problems of the parts, each with the position of its part.
func (w combined) Check() error {
	c := w.row().Check(w.params())
	for i, part := range w.Parts {
		c.That(part != nil, fmt.Sprintf("parts[%d]", i), nil, "a trigger")
		c.Part(fmt.Sprintf("parts[%d]", i), part)
	}
	return c.Err()
}

func (w combined) Describe() chaos.Description { return w.row().Describe(w.params()) }
