package when

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Nth matches the n-th call of a lane to a target, counted from 1. With several
// numbers it matches each of those calls. Each is at least 1, and there is at
// least one.
func Nth(n ...int) chaos.When { return nth{slices.Clone(n)} }

type nth struct{ n []int }

func (w nth) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

// MatchOrdinal makes this a [chaos.OrdinalWhen], like all triggers here that
// only count.
func (w nth) MatchOrdinal(ordinal uint64) bool {
	for _, n := range w.n {
		if ordinal+1 == uint64(n) {
			return true
		}
	}
	return false
}

func (w nth) Check() error {
	c := param.Check{Kind: "nth"}
	c.That(len(w.n) > 0, "n", w.n, "at least one call number")
	for _, n := range w.n {
		c.That(n >= 1, "n", n, "a call number: 1 is the first call")
	}
	return c.Err()
}

func (w nth) Describe() chaos.Description {
	return describe("nth", struct {
		N []int `json:"n"`
	}{w.n})
}

// First matches the first n calls of a lane to a target; n is at least 1.
func First(n int) chaos.When { return count{kind: "first", n: n, least: 1, match: first} }

// After matches all calls of a lane to a target except the first n; n is at
// least 0. With fault.ResourceExhausted it is a quota.
func After(n int) chaos.When { return count{kind: "after", n: n, least: 0, match: after} }

// Every matches the n-th call of a lane to a target, the 2n-th, the 3n-th and
// so on; n is at least 1.
func Every(n int) chaos.When { return count{kind: "every", n: n, least: 1, match: every} }

// count is a trigger that compares the number of a call with n.
type count struct {
	kind  string
	n     int
	least int
	match func(ordinal, n uint64) bool
}

func first(ordinal, n uint64) bool { return ordinal < n }
func after(ordinal, n uint64) bool { return ordinal >= n }
func every(ordinal, n uint64) bool { return (ordinal+1)%n == 0 }

func (w count) Match(c chaos.Call) bool { return w.MatchOrdinal(c.Ordinal) }

func (w count) MatchOrdinal(ordinal uint64) bool {
	return w.n >= w.least && w.match(ordinal, uint64(w.n))
}

func (w count) Check() error {
	c := param.Check{Kind: w.kind}
	allowed := "a number of calls, at least 1"
	if w.least == 0 {
		allowed = "a number of calls, 0 or more"
	}
	c.That(w.n >= w.least, "n", w.n, allowed)
	return c.Err()
}

func (w count) Describe() chaos.Description {
	return describe(w.kind, struct {
		N int `json:"n"`
	}{w.n})
}
