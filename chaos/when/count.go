package when

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

var countRows = []*catalog.Row{nthRow, firstRow, afterRow, everyRow}

// Nth matches the n-th call of a lane to a target, counted from 1. With several
// numbers it matches each of those calls. Each is at least 1, and there is at
// least one.
func Nth(n ...int) chaos.When { return nth{callNumbers{slices.Clone(n)}} }

var nthRow = catalog.Trigger(catalog.Row{
	Kind: "nth", Doc: "The calls of these numbers.", Go: "when.Nth(n...)", Example: `{"n":[4]}`,
	Order: catalog.Sequential,
}, func(p callNumbers) chaos.When { return nth{p} })

type callNumbers struct {
	N []int `json:"n" bounds:"min=1,over=0" allowed:"call numbers, at least one: 1 is the first call" doc:"numbers of calls, counted from 1"`
}

type nth struct{ callNumbers }

func (w nth) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

// MatchOrdinal makes this a [chaos.OrdinalWhen], like all triggers here that
// only count.
func (w nth) MatchOrdinal(ordinal uint64) bool {
	for _, n := range w.N {
		if ordinal+1 == uint64(n) {
			return true
		}
	}
	return false
}

func (w nth) Check() error                { return nthRow.Check(w.callNumbers).Err() }
func (w nth) Describe() chaos.Description { return nthRow.Describe(w.callNumbers) }

// callCount are the parameters of First and Every.
type callCount struct {
	N int `json:"n" bounds:"min=1" allowed:"a number of calls, at least 1" doc:"number of calls"`
}

// First matches the first n calls of a lane to a target; n is at least 1.
func First(n int) chaos.When { return first{callCount{n}} }

var firstRow = catalog.Trigger(catalog.Row{
	Kind: "first", Doc: "The first n calls.", Go: "when.First(n)", Example: `{"n":3}`,
	Order: catalog.Sequential,
}, func(p callCount) chaos.When { return first{p} })

type first struct{ callCount }

func (w first) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }
func (w first) MatchOrdinal(ordinal uint64) bool {
	return w.N >= 1 && ordinal < uint64(w.N)
}
func (w first) Check() error                { return firstRow.Check(w.callCount).Err() }
func (w first) Describe() chaos.Description { return firstRow.Describe(w.callCount) }

// After matches all calls of a lane to a target except the first n; n is at
// least 0. With fault.ResourceExhausted it is a quota.
func After(n int) chaos.When { return after{quota{n}} }

var afterRow = catalog.Trigger(catalog.Row{
	Kind: "after", Doc: "All calls except the first n.", Go: "when.After(n)", Example: `{"n":10}`,
	Order: catalog.Sequential,
}, func(p quota) chaos.When { return after{p} })

type quota struct {
	N int `json:"n" bounds:"min=0" allowed:"a number of calls, 0 or more" doc:"number of calls that are not matched"`
}

type after struct{ quota }

func (w after) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }
func (w after) MatchOrdinal(ordinal uint64) bool {
	return w.N >= 0 && ordinal >= uint64(w.N)
}
func (w after) Check() error                { return afterRow.Check(w.quota).Err() }
func (w after) Describe() chaos.Description { return afterRow.Describe(w.quota) }

// Every matches the n-th call of a lane to a target, the 2n-th, the 3n-th and
// so on; n is at least 1.
func Every(n int) chaos.When { return every{callCount{n}} }

var everyRow = catalog.Trigger(catalog.Row{
	Kind: "every", Doc: "The n-th call, the 2n-th, and so on.", Go: "when.Every(n)", Example: `{"n":5}`,
	Order: catalog.Sequential,
}, func(p callCount) chaos.When { return every{p} })

type every struct{ callCount }

func (w every) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }
func (w every) MatchOrdinal(ordinal uint64) bool {
	return w.N >= 1 && (ordinal+1)%uint64(w.N) == 0
}
func (w every) Check() error                { return everyRow.Check(w.callCount).Err() }
func (w every) Describe() chaos.Description { return everyRow.Describe(w.callCount) }
