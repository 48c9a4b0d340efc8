package chaos

import "time"

// A Rule says what goes wrong, where, and on which calls. Several rules may be
// injected into one call: each trigger is asked on its own, so that a stated
// probability holds whatever rules stand before it. See [Phase] for the order in
// which they act.
type Rule struct {
	_ struct{}

	// Name identifies the rule in events and in draws: renaming a rule moves its
	// draws, moving or adding rules does not. Empty: made from the target and the
	// kind of the fault. Names are unique within a plan.
	Name string
	// Target is a glob over the names of injection points: * matches any run
	// of characters, '/' and '.' included, ? one character, [a-z] a class,
	// {a,b} alternatives, \ takes the next character literally. Required.
	Target string
	// When decides which calls the rule matches; nil: every call.
	When When
	// Fault is what is injected into a matched call. Required.
	Fault Fault
	// Limit is the number of deliveries after which the rule is held back for good;
	// 0: no limit. A match that was not delivered does not use it up.
	Limit int
	// CoolDown is the time after a delivery in which the rule is held back; 0: none.
	// The rule is also held back while a call that it was injected into is under
	// way.
	CoolDown time.Duration
	// Group makes the rules that share it match and recover together. They see one
	// count of calls over all their targets, one draw per call and one count of
	// deliveries. So they must state the same Limit and CoolDown. With one trigger
	// that lasts (Between, After, First) a group is a partition, or the outage of a
	// dependency that several targets share.
	Group string
	// Layer overrides the layer of the injection point.
	Layer Layer
}
