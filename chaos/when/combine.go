package when

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// All matches the calls that every part matches. The parts draw independently:
// All(Prob(0.5), Prob(0.5)) matches a quarter of the calls. At least one part.
func All(parts ...chaos.When) chaos.When {
	return combine(combined{kind: "all", stop: false, then: false}, parts)
}

// Any matches the calls that at least one part matches. The parts draw
// independently. At least one part.
func Any(parts ...chaos.When) chaos.When {
	return combine(combined{kind: "any", stop: true, then: true}, parts)
}

// Not matches the calls that part does not match.
func Not(part chaos.When) chaos.When {
	return combine(combined{kind: "not", stop: false, then: true}, []chaos.When{part})
}

// combine makes an ArgsWhen only if a part needs the arguments, since those
// cost an allocation on every call.
func combine(w combined, parts []chaos.When) chaos.When {
	w.parts = slices.Clone(parts)
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
	kind       string
	stop, then bool
	parts      []chaos.When
}

func (w combined) Match(c chaos.Call) bool {
	for i, part := range w.parts {
		if (part != nil && part.Match(c.Sub(i))) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.parts) > 0
}

type combinedArgs struct{ combined }

func (w combinedArgs) MatchArgs(c chaos.Call, args any) bool {
	for i, part := range w.parts {
		if matchArgs(part, c.Sub(i), args) == w.stop {
			return w.then
		}
	}
	return !w.then && len(w.parts) > 0
}

func matchArgs(part chaos.When, c chaos.Call, args any) bool {
	if a, ok := part.(chaos.ArgsWhen); ok {
		return a.MatchArgs(c, args)
	}
	return part != nil && part.Match(c)
}

// Check joins the problems of the parts, each with the position of its part.
func (w combined) Check() error {
	c := param.Check{Kind: w.kind}
	c.That(len(w.parts) > 0, "parts", "empty", "at least one trigger")
	for i, part := range w.parts {
		c.That(part != nil, fmt.Sprintf("parts[%d]", i), nil, "a trigger")
		c.Part(fmt.Sprintf("parts[%d]", i), part)
	}
	return c.Err()
}

func (w combined) Describe() chaos.Description {
	parts := make([]chaos.Description, len(w.parts))
	for i, part := range w.parts {
		parts[i] = describePart(part)
	}
	return describe(w.kind, struct {
		Parts []chaos.Description `json:"parts"`
	}{parts})
}

// describePart is the description of a part, or the name of its type if it has
// none.
func describePart(part chaos.When) chaos.Description {
	if d, ok := part.(chaos.Described); ok {
		return d.Describe()
	}
	return chaos.Description{Kind: fmt.Sprintf("%T", part)}
}
