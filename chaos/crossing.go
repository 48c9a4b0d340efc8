package chaos

import "context"

// A Crossing is one call, of one goroutine, whose key and arguments are costly to make, such
// as those of an HTTP request. [Injector.Arrive] makes it. If [Crossing.Waiting] is true, call
// [Crossing.Match] first. Then the call ended with [Crossing.Err], passes through
// ([Crossing.PassesThrough]), or is continued by a function that has it in its
// [WrapOptions]. The zero value passes through.
type Crossing struct {
	point
	decision decision
	matched  matchedRules
	in       *Injector
	err      error
	state    crossingState
	ctx      context.Context // of Arrive
	counted  bool            // decision has its ordinal
}

type crossingState uint8

const (
	passes  crossingState = iota // the call goes straight to its callee
	waits                        // for Match
	refused                      // err is what the caller gets
	goesOn                       // rules act on it, or it is recorded
)

// Arrive begins a call of a target; alias and layer are those of [WrapOptions]. With
// costlyKey, a call passes through at once, counted in its lane but not by its key, if all
// rules in force look at the ordinal alone ([OrdinalWhen]) and none of them matches.
func (in *Injector) Arrive(ctx context.Context, target, alias string, layer Layer, costlyKey bool) (c Crossing) {
	c.ctx, c.in, c.point = ctx, in, newPoint(target, layer)
	c.alias = alias
	f := frameOf(ctx)
	set, err := in.enter(&c.point, f)
	switch {
	case err != nil:
		c.state, c.err = refused, err
		return c
	case set == nil:
		return c
	}
	c.decision = decision{set: set, frame: f, layer: layer}
	if costlyKey && set.ordinal && !in.opts.RecordAll && !set.site.failing.Load() {
		at, through := set.count(0)
		if c.decision.coords, c.counted = at, true; through {
			return c
		}
	}
	c.state = waits
	return c
}

// Declare says what a successful call does to the world, as [Tool].Effect does. Call it before
// [Crossing.Match]. Without it that is unknown.
func (c *Crossing) Declare(e Effect) { c.effect = e }

// Waiting reports whether the call needs [Crossing.Match] to go on.
func (c *Crossing) Waiting() bool { return c.state == waits }

// WantsArgs reports whether Match needs the arguments: a trigger looks at them, or
// [InjectorOptions].KeepValues is set.
func (c *Crossing) WantsArgs() bool {
	return c.state == waits && (c.decision.set.args || c.in.opts.KeepValues)
}

// Match gives the call its key, as that of [WrapOptions], and asks the triggers of
// the rules in force. If [Crossing.WantsArgs] is false, args may be nil or a cheap
// substitute, which an [ArgsFailer] gets. A fault that is only an error is injected
// here. Match does nothing to a call that is not Waiting.
func (c *Crossing) Match(key uint64, args any) {
	if c.state != waits {
		return
	}
	s := c.decision.set.site
	switch {
	case !c.counted:
		at, through := c.decision.set.count(key)
		if c.decision.coords = at; through {
			c.state = passes
			return
		}
	case key != 0:
		s.mix()
		c.decision.key, c.decision.occurrence = key, s.occurrence(key)
	}
	c.counted = true
	var through bool
	switch c.matched, through, c.err = matchRules(c.ctx, &c.decision, args); {
	case c.err != nil:
		c.state = refused
	case through:
		c.state = passes
	default:
		c.state = goesOn
	}
}

// PassesThrough reports whether the call goes straight to its callee, without an
// event. Call [Crossing.Passed] when it has ended.
func (c *Crossing) PassesThrough() bool { return c.state == passes }

// Err is the error for the caller if the callee is not reached: an [*InjectedError],
// or [ErrCellEnded]. nil: the call goes on.
func (c *Crossing) Err() error { return c.err }

// Passed records how a call that passed through ended, for the [Event].Attempt of the next
// one with that key. Do not call it if the key is unknown.
func (c *Crossing) Passed(key uint64, err error) {
	if c.decision.set != nil && c.state == passes {
		c.decision.set.site.passed(c.decision.frame, key, err)
	}
}

func goOn[In, Out any](ctx context.Context, x *Crossing, c *callee[In, Out], in In) (Out, error) {
	switch x.state {
	case goesOn:
		return decide(ctx, &x.decision, x.matched, c, in)
	case refused:
		var none Out
		return none, x.err
	}
	return c.fn(ctx, in)
}
