package chaos

// A When decides which calls a rule matches. Match must be fast and a pure function
// of c. It is called on every call to a target of the rule, possibly from many
// goroutines, and possibly twice for one call. A When that needs chance takes it
// from [Call.Draw].
//
// A When may also implement [ArgsWhen], [OrdinalWhen], [Probabilistic], [Checked]
// and [Described]. Package chaos/when has the ready-made ones.
type When interface {
	Match(c Call) bool
}

// An ArgsWhen looks at the arguments too. Only for such triggers are the arguments
// boxed into an interface, which costs an allocation. The arguments of a tool call
// are its json.RawMessage, those of a [Point] a struct{}{}. [Injector.InjectNow] has
// none: then args is nil. They must not be changed.
//
// The injector calls MatchArgs instead of Match.
type ArgsWhen interface {
	When
	MatchArgs(c Call, args any) bool
}

// An OrdinalWhen is a trigger that looks at [Call.Ordinal] alone. The injector calls
// MatchOrdinal instead of Match; the two must agree. No [Call] is built for it,
// which saves most of the cost of asking. In a rule with a [Rule.Group] the ordinal
// is that of the group. If the trigger is also an [ArgsWhen] or [Probabilistic], the
// injector uses that interface instead. MatchOrdinal must be safe for concurrent
// use.
type OrdinalWhen interface {
	When
	MatchOrdinal(ordinal uint64) bool
}

// A Probabilistic trigger is nothing but chance: it matches a call when c.Draw(0) is
// below Probability, a number from 0 to 1 that never changes. The injector makes the
// draw itself instead of calling Match, which must agree. That is why such a rule
// costs next to nothing on the calls that it does not match.
type Probabilistic interface {
	When
	Probability() float64
}
