package chaos

// A When says which calls a rule is drawn on. Match must be a pure function of
// c and fast: it is called on every call to a matching target, possibly from
// many goroutines, and possibly twice for one call. A When that needs chance
// takes it from [Call.Draw].
//
// A When may also implement [ArgsWhen], [OrdinalWhen], [Probabilistic],
// [Checked] and [Described]. Package chaos/when has the ready-made ones.
type When interface {
	Match(c Call) bool
}

// An ArgsWhen looks at the arguments too. Only for such triggers are the
// arguments boxed into an interface, which costs an allocation. The arguments
// of a tool call are its json.RawMessage, those of a [Point] a struct{}{}, and
// [Injector.InjectNow] has none: then args is nil. They must not be changed.
//
// The injector calls MatchArgs instead of Match.
type ArgsWhen interface {
	When
	MatchArgs(c Call, args any) bool
}

// An OrdinalWhen is a trigger that looks at [Call.Ordinal] alone. The injector
// calls MatchOrdinal instead of Match; the two must agree. No [Call] is built for
// it, which saves most of the cost of asking. In a rule with a [Rule.Group] the
// ordinal is that of the group. A trigger that is an [ArgsWhen] or [Probabilistic]
// too is asked as such. MatchOrdinal must be safe for concurrent use.
type OrdinalWhen interface {
	When
	MatchOrdinal(ordinal uint64) bool
}

// A Probabilistic trigger is nothing but chance: it matches a call when
// c.Draw(0) is below Probability, a number from 0 to 1 that never changes. The
// injector draws by itself instead of calling Match, which must agree; that is
// what makes a rule that is drawn but does not strike cost next to nothing.
type Probabilistic interface {
	When
	Probability() float64
}
