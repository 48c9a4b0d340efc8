package when

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Nth matches the n-th call of a lane to a target, counted from 1. With several
// numbers it matches each of those calls. Each is at least 1, and there is at
// least one.
func Nth(n ...int) chaos.When { return nth.Of(callNumbers{slices.Clone(n)}) }

var nth = &catalog.Ordinal[callNumbers]{
	Row: catalog.Row{Kind: "nth", Doc: "The calls of these numbers.", Go: "when.Nth(n...)", Example: `{"n":[4]}`,
		Order: catalog.Sequential},
	Match: func(p callNumbers, ordinal uint64) bool {
		for _, n := range p.N {
			if ordinal+1 == uint64(n) {
				return true
			}
		}
		return false
	},
}

type callNumbers struct {
	N []int `json:"n" bounds:"min=1,over=0" allowed:"call numbers, at least one: 1 is the first call" doc:"numbers of calls, counted from 1"`
}

// callCount are the parameters of First and Every.
type callCount struct {
	N int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls"`
}

// First matches the first n calls of a lane to a target; n is at least 1.
func First(n int) chaos.When { return first.Of(callCount{n}) }

var first = &catalog.Ordinal[callCount]{
	Row: catalog.Row{Kind: "first", Doc: "The first n calls.", Go: "when.First(n)", Example: `{"n":3}`,
		Order: catalog.Sequential},
	Match: func(p callCount, ordinal uint64) bool { return p.N >= 1 && ordinal < uint64(p.N) },
}

// After matches all calls of a lane to a target except the first n; n is at
// least 0. With fault.ResourceExhausted it is a quota.
func After(n int) chaos.When { return after.Of(quota{n}) }

var after = &catalog.Ordinal[quota]{
	Row: catalog.Row{Kind: "after", Doc: "All calls except the first n.", Go: "when.After(n)", Example: `{"n":10}`,
		Order: catalog.Sequential},
	Match: func(p quota, ordinal uint64) bool { return p.N >= 0 && ordinal >= uint64(p.N) },
}

type quota struct {
	N int `json:"n" bounds:"min=0" allowed:"a number of calls, 0 or more" doc:"number of calls that are not matched"`
}

// Every matches the n-th call of a lane to a target, the 2n-th, the 3n-th and
// so on; n is at least 1.
func Every(n int) chaos.When { return every.Of(callCount{n}) }

var every = &catalog.Ordinal[callCount]{
	Row: catalog.Row{Kind: "every", Doc: "The n-th call, the 2n-th, and so on.", Go: "when.Every(n)",
		Example: `{"n":5}`,
		Order:   catalog.Sequential},
	Match: func(p callCount, ordinal uint64) bool { return p.N >= 1 && (ordinal+1)%uint64(p.N) == 0 },
}

// expected are the parameters of Early, Mid and Late.
type expected struct {
	Calls int `json:"calls" bounds:"min=3" allowed:"a number of calls, at least 3: fewer have no three thirds" doc:"calls of a lane to the target that a run without faults makes"`
}

// Early matches the first third of the calls of a lane to a target. calls is
// the expected number, at least 3: that of the same run without faults.
// scenarios.ByPosition counts them in a calm run and makes the scenarios.
//
// Of calls numbered from 0, the thirds begin at 0, calls/3 and 2·calls/3,
// rounded down, so none is empty. In a rule with a [chaos.Rule.Group] the calls
// to all its targets count as one sequence.
func Early(calls int) chaos.When { return early.Of(expected{calls}) }

var early = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "early", Doc: "The first third of the calls that are expected.", Go: "when.Early(calls)",
		Example: `{"calls":9}`, Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool { return p.Calls >= 3 && ordinal < p.begin(1) },
}

// Mid matches the second third of the calls; see [Early].
func Mid(calls int) chaos.When { return mid.Of(expected{calls}) }

var mid = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "mid", Doc: "The second third.", Go: "when.Mid(calls)", Example: `{"calls":9}`,
		Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool {
		return p.Calls >= 3 && ordinal >= p.begin(1) && ordinal < p.begin(2)
	},
}

// Late matches the last third of the calls, and all calls after it: a run with
// retries makes more calls than one without faults. See [Early].
func Late(calls int) chaos.When { return late.Of(expected{calls}) }

var late = &catalog.Ordinal[expected]{
	Row: catalog.Row{Kind: "late", Doc: "The last third and all calls after it.", Go: "when.Late(calls)",
		Example: `{"calls":9}`, Order: catalog.Sequential},
	Match: func(p expected, ordinal uint64) bool { return p.Calls >= 3 && ordinal >= p.begin(2) },
}

// begin is the first call of a third, computed without overflow.
func (p expected) begin(third uint64) uint64 {
	n := uint64(p.Calls)
	return n/3*third + n%3*third/3
}
