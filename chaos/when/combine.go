package when

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// All matches the calls that every part matches. The parts draw independently:
// All(Prob(0.5), Prob(0.5)) matches a quarter of the calls. At least one part.
func All(parts ...chaos.When) chaos.When { return all.Of(partList{slices.Clone(parts)}) }

var all = &catalog.Match[partList]{
	Row: catalog.Row{Kind: "all", Doc: "The calls that all parts match.", Go: "when.All(parts...)",
		Example: `{"parts":[{"kind":"after","params":{"n":2}},{"kind":"prob","params":{"p":0.5}}]}`},
	Match: func(p partList, c chaos.Call) bool { return len(p.Parts) > 0 && !one(p.Parts, c, false) },
	MatchArgs: func(p partList, c chaos.Call, args any) bool {
		return len(p.Parts) > 0 && !oneArgs(p.Parts, c, args, false)
	},
	WantsArgs: partList.wantArgs,
}

type partList struct {
	Parts []chaos.When `json:"parts" bounds:"min=1" allowed:"at least one trigger" doc:"triggers that draw independently"`
}

// Any matches the calls that at least one part matches. The parts draw
// independently. At least one part.
func Any(parts ...chaos.When) chaos.When { return anyOf.Of(partList{slices.Clone(parts)}) }

var anyOf = &catalog.Match[partList]{
	Row: catalog.Row{Kind: "any", Doc: "The calls that one of the parts matches.", Go: "when.Any(parts...)",
		Example: `{"parts":[{"kind":"nth","params":{"n":[1]}},{"kind":"every","params":{"n":10}}]}`},
	Match:     func(p partList, c chaos.Call) bool { return one(p.Parts, c, true) },
	MatchArgs: func(p partList, c chaos.Call, args any) bool { return oneArgs(p.Parts, c, args, true) },
	WantsArgs: partList.wantArgs,
}

// Not matches the calls that part does not match.
func Not(part chaos.When) chaos.When { return not.Of(onePart{[]chaos.When{part}}) }

var not = &catalog.Match[onePart]{
	Row: catalog.Row{Kind: "not", Doc: "The calls that the part does not match.", Go: "when.Not(part)",
		Example: `{"parts":[{"kind":"first","params":{"n":1}}]}`},
	Match:     func(p onePart, c chaos.Call) bool { return one(p.Parts, c, false) },
	MatchArgs: func(p onePart, c chaos.Call, args any) bool { return oneArgs(p.Parts, c, args, false) },
	WantsArgs: func(p onePart) bool { return partList(p).wantArgs() },
}

// onePart is a partList with other bounds.
type onePart struct {
	Parts []chaos.When `json:"parts" bounds:"min=1,max=1" allowed:"one trigger" doc:"the trigger, a list of one"`
}

func (p onePart) Check(c *catalog.Check) { partList(p).Check(c) }

// Check adds the problems of the parts, each with the position of its part.
func (p partList) Check(c *catalog.Check) {
	for i, part := range p.Parts {
		place := fmt.Sprintf("parts[%d]", i)
		c.That(part != nil, place, nil, "a trigger")
		c.Part(place, part)
	}
}

// wantArgs reports whether a part needs the arguments, which cost an allocation on
// every call.
func (p partList) wantArgs() bool { return slices.ContainsFunc(p.Parts, wantsArgs) }

func wantsArgs(part chaos.When) bool {
	_, ok := part.(chaos.ArgsWhen)
	return ok
}

// one reports whether one of the parts answers so. A nil part never matches, and
// Check reports it.
func one(parts []chaos.When, c chaos.Call, answer bool) bool {
	for i, part := range parts {
		if (part != nil && part.Match(c.Sub(i))) == answer {
			return true
		}
	}
	return false
}

func oneArgs(parts []chaos.When, c chaos.Call, args any, answer bool) bool {
	for i, part := range parts {
		if matchArgs(part, c.Sub(i), args) == answer {
			return true
		}
	}
	return false
}

func matchArgs(part chaos.When, c chaos.Call, args any) bool {
	if a, ok := part.(chaos.ArgsWhen); ok {
		return a.MatchArgs(c, args)
	}
	return part != nil && part.Match(c)
}
