package chaos

import "time"

// A Rule says what goes wrong, where, and on which calls. Several rules may
// strike one call: each is drawn on its own, so that a stated probability holds
// whatever rules stand before it. See [Phase] for the order in which they act.
type Rule struct {
	_ struct{}

	// Name identifies the rule in events and in draws: renaming a rule moves
	// its draws, moving or adding rules does not. Empty: made from the target
	// and the kind of the fault. Names are unique within a plan.
	Name string
	// Target is a glob over the names of injection points: * matches any run
	// of characters, '/' and '.' included, ? one character, [a-z] a class,
	// {a,b} alternatives, \ takes the next character literally. Required.
	Target string
	// When says on which calls the rule is drawn; nil: on every call.
	When When
	// Fault is what happens then. Required.
	Fault Fault
	// Limit is the number of deliveries after which the rule rests for good;
	// 0: no limit. A call that was drawn but not delivered does not use it up.
	Limit int
	// CoolDown is the time after a delivery in which the rule rests; 0: it does
	// not. While a call that it struck is under way, it rests too.
	CoolDown time.Duration
	// Group makes the rules that share it strike and heal together: they see
	// one count of calls over all their targets, one draw per call, one count of
	// deliveries, and so must state the same Limit and CoolDown. With one
	// trigger that lasts (Between, After, First) a group is a partition, or the
	// outage of a dependency that several targets share.
	Group string
	// Layer overrides the layer of the point that the rule strikes.
	Layer Layer
}
