package when

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
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

// combine makes an ArgsWhen only of parts that need the arguments, since those
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

// combined asks its parts in order until one answers stop; then it is then,
// else the opposite. A nil part never matches, and Check reports it.
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
	c := check{kind: w.kind}
	c.that(len(w.parts) > 0, "parts", "empty", "at least one trigger")
	for i, part := range w.parts {
		c.that(part != nil, fmt.Sprintf("parts[%d]", i), nil, "a trigger")
		checked, ok := part.(chaos.Checked)
		if !ok {
			continue
		}
		for _, problem := range split(checked.Check()) {
			c.problems = append(c.problems, located(problem, fmt.Sprintf("%s: parts[%d]: ", w.kind, i)))
		}
	}
	return c.err()
}

// located says of a part's problem which part it is of.
func located(problem error, place string) error {
	if p, ok := problem.(*chaos.ParamError); ok {
		inner := *p
		inner.Kind = place + p.Kind
		return &inner
	}
	return fmt.Errorf("%s%w", place, problem)
}

// split takes joined problems apart, so that each gets its own position. An
// error with several causes and a text of its own stays whole.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts := joined.Unwrap()
		if again := errors.Join(parts...); again != nil && again.Error() == err.Error() {
			return parts
		}
	}
	return []error{err}
}

func (w combined) Describe() chaos.Description {
	parts := make([]chaos.Description, len(w.parts))
	for i, part := range w.parts {
		parts[i].Kind = fmt.Sprintf("%T", part)
		if d, ok := part.(chaos.Described); ok {
			parts[i] = d.Describe()
		}
	}
	return describe(w.kind, struct {
		Parts []chaos.Description `json:"parts"`
	}{parts})
}
