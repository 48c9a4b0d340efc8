package lint

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// trigger is a trigger read from its description. Its members are the
// parameters of all known kinds. Kind is empty for another kind, or if the
// parameters cannot be read.
type trigger struct {
	Kind string

	P, Good, Bad *float64
	N            numbers
	From, To     span
	On, Off      span
	Calls        calls
	First, Last  int64
	Lanes        []string
	Parts        []trigger
	Stages       []stage
}

type stage struct {
	For   span
	Calls int64
	When  trigger
}

// readTrigger reads a trigger's description.
func readTrigger(d chaos.Description) (t trigger) {
	if len(d.Params) > 0 && json.Unmarshal(d.Params, (*params)(&t)) != nil {
		return trigger{}
	}
	t.Kind = d.Kind
	return t
}

// params is a trigger without its UnmarshalJSON method.
type params trigger

// UnmarshalJSON reads a part of a combination: a description.
func (t *trigger) UnmarshalJSON(doc []byte) error {
	var d chaos.Description
	if err := json.Unmarshal(doc, &d); err != nil {
		return err
	}
	*t = readTrigger(d)
	return nil
}

// numbers is one number or several, of 64 bits even if an int has fewer.
type numbers []int64

// UnmarshalJSON accepts both.
func (n *numbers) UnmarshalJSON(doc []byte) error {
	var one int64
	if json.Unmarshal(doc, &one) == nil {
		*n = numbers{one}
		return nil
	}
	return json.Unmarshal(doc, (*[]int64)(n))
}

func (n numbers) first() int64 {
	if len(n) == 0 {
		return 0
	}
	return n[0]
}

// calls is the list of an exact trigger, or how many calls another counts.
type calls struct {
	list []when.Coord
	n    int64
}

// UnmarshalJSON accepts both.
func (c *calls) UnmarshalJSON(doc []byte) error {
	if json.Unmarshal(doc, &c.n) == nil {
		return nil
	}
	return json.Unmarshal(doc, &c.list)
}

// span is a duration, or a number where a trigger counts.
type span int64

// UnmarshalJSON accepts both.
func (s *span) UnmarshalJSON(doc []byte) error {
	var text string
	if json.Unmarshal(doc, &text) != nil {
		return json.Unmarshal(doc, (*int64)(s))
	}
	d, err := time.ParseDuration(text)
	*s = span(d)
	return err
}

// could reports whether a call of an exact list can be one of the rule's. In a
// group no call has a key.
func (r *rule) could(c when.Coord) bool {
	return (r.glob == nil || r.glob.Match(c.Target)) && (r.Group == "" || c.Key == 0)
}

// inLane reports whether one of the globs of a lane trigger matches.
func inLane(globs []string, lane string) bool {
	for _, pattern := range globs {
		if pattern == "" && lane == "" {
			return true
		}
		if g, err := glob.Compile(pattern); pattern != "" && err == nil && g.Match(lane) {
			return true
		}
	}
	return false
}

// timed reports whether stages go by the clock.
func (t trigger) timed() bool {
	for _, s := range t.Stages {
		if s.For > 0 {
			return true
		}
	}
	return false
}

// all lists the trigger and its parts, and theirs.
func (t trigger) all() []trigger {
	list := []trigger{t}
	for _, part := range t.Parts {
		list = append(list, part.all()...)
	}
	for _, s := range t.Stages {
		list = append(list, s.When.all()...)
	}
	return list
}
