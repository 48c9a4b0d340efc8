package chaos

import (
	"math/bits"
	"time"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// A Call is one call at an injection point: the coordinates that a [When] decides
// by. It is passed by value, so that no call of a When allocates.
//
// For a rule with a [Rule.Group] the Key is 0, and Occurrence and Ordinal count the
// lane's calls to all targets of the group together.
type Call struct {
	// Cell names the run the call belongs to, as given to [Plan.Injector];
	// empty for a live injector.
	Cell string
	// Lane names the strand of concurrent work, as set by [WithLane]; empty by default.
	Lane string
	// Target is the name of the injection point.
	Target string
	// Key is a hash of the call's arguments, or 0: see [WrapOptions] and [WrapRegistry].
	Key uint64
	// Occurrence counts the earlier calls with this Key in this lane to this target: 0, 1, 2…
	Occurrence uint64
	// Ordinal counts the earlier calls in this lane to this target: 0, 1, 2…
	// For a rule registered at run time it counts from the registration.
	Ordinal uint64
	// Turn is the agent's turn, as set by [WithTurn]; 0 by default.
	Turn int

	coord uint64 // hash of seed, cell, lane, target or group, and name of the rule; 0 in a Call made by hand
	path  uint64 // the position within a combined trigger
	clock *site  // reads the time on first use; nil: at holds it
	at    time.Duration
}

// Elapsed is the time since the injector was armed, 0 for a Call made by hand. All
// triggers that look at one call see the same time.
func (c Call) Elapsed() time.Duration {
	if c.clock == nil {
		return c.at
	}
	return c.clock.askTime()
}

// Draw returns a number in [0,1). It depends on the seed, the cell, the lane, the
// target, the key, the occurrence, the name of the rule, the position within a
// combined trigger and salt alone. Distinct salts are independent draws. It is the output
// of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) at the place that these choose.
func (c Call) Draw(salt uint64) float64 {
	if c.coord == 0 {
		c.coord = c.byHand()
	}
	return hash.Unit(place(c.coord, c.Key, c.Occurrence, c.path+salt*saltStep))
}

// saltStep and keyTurn keep salts, keys and occurrences from cancelling out.
const (
	saltStep = 0xD1342543DE82EF95 // odd: distinct salts are distinct steps
	keyTurn  = 23
)

// place is the 64 bits behind a draw. coord and key are hashes already, so one
// round over their sum with the steps is enough.
func place(coord, key, occurrence, step uint64) uint64 {
	return hash.Mix((coord ^ bits.RotateLeft64(key, keyTurn)) + occurrence*hash.Gamma + step)
}

// Sub returns the call as the i-th part of a combinator sees it: the same
// coordinates, independent draws.
func (c Call) Sub(i int) Call {
	c.path = hash.Combine(c.path+1, uint64(i))
	return c
}

// At returns the call with another occurrence and ordinal. Triggers with memory,
// such as bursts, use it to examine earlier calls without keeping state.
func (c Call) At(occurrence, ordinal uint64) Call {
	c.Occurrence, c.Ordinal = occurrence, ordinal
	return c
}

// AtElapsed returns the call at another time since the injector was armed.
func (c Call) AtElapsed(d time.Duration) Call {
	c.clock, c.at = nil, d
	return c
}

// byHand hashes the names of a Call made in a test of a trigger, under seed 0.
func (c Call) byHand() uint64 {
	return ruleHash(scopeHash(cellHash(0, c.Cell), hash.String(c.Lane), hash.String(c.Target)), 0)
}

// The following hashes build on each other. Each is stored with what it belongs to
// (injector, site, rule at a site). Golden vectors in the tests fix them across releases.

func cellHash(seed uint64, cell string) uint64 {
	return hash.Combine(hash.Mix(seed), hash.String(cell))
}

func scopeHash(cell, lane, target uint64) uint64 {
	return hash.Combine(hash.Combine(cell, lane), target)
}

// ruleHash never returns 0, which marks a Call made by hand.
func ruleHash(scope, name uint64) uint64 {
	h := hash.Combine(scope, name)
	if h == 0 {
		return 1
	}
	return h
}

// A When decides which calls a rule matches. Match must be fast and a pure function
// of c, with chance from [Call.Draw]. It is called on every call to a target of the rule,
// possibly from many goroutines, and possibly twice for one call.
//
// A When may also implement [ArgsWhen], [OrdinalWhen], [Probabilistic], [Checked]
// and [Described]. Package chaos/when has the ready-made ones.
type When interface {
	Match(c Call) bool
}

// An ArgsWhen looks at the arguments too, which costs an allocation: MatchArgs is called
// instead of Match. The arguments of a tool call are its json.RawMessage, those of a
// [Point] a struct{}{}, those of [Injector.InjectNow] nil. They must not be changed.
type ArgsWhen interface {
	When
	MatchArgs(c Call, args any) bool
}

// An OrdinalWhen looks at [Call.Ordinal] alone, so that no [Call] is built for it.
// MatchOrdinal is called instead of Match, with which it must agree, unless the trigger is
// also an [ArgsWhen] or [Probabilistic]. It must be safe for concurrent use.
type OrdinalWhen interface {
	When
	MatchOrdinal(ordinal uint64) bool
}

// A Probabilistic trigger is nothing but chance: it matches a call when c.Draw(0) is
// below Probability, a number from 0 to 1 that never changes. The injector makes the
// draw itself instead of calling Match, which must agree.
type Probabilistic interface {
	When
	Probability() float64
}
