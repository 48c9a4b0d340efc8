package chaos

import "context"

// A Crossing is one call on its way through an injection point whose arguments and
// key are costly, such as those of an HTTP request, which are made from its body. It
// asks for them only if a rule in force needs them, and allocates nothing if no rule
// matches.
//
// [Injector.Arrive] makes it; the zero value is of no use. It is for one call and
// one goroutine. If it is not Calm in the end and has no error, pass it in the
// [WrapOptions] of a function, which continues the call.
type Crossing struct {
	point
	decision decision
	matched  matchedRules
	in       *Injector
	err      error
	state    crossingState
	ctx      context.Context // of Arrive
	counted  bool            // d has its ordinal
}

type crossingState uint8

const (
	passes  crossingState = iota // the call goes straight to its callee
	waits                        // for the key
	refused                      // err is what the caller gets
	meets                        // rules act on it, or it is recorded
)

// Arrive begins a call of a target, at a point as [WrapOptions] describe one. The
// lane, the turn and the caller come from ctx, which is also the context of
// [InjectorOptions].OnEvent if [Crossing.Meet] injects an error.
//
// unread means that making the key is costly. If all rules in force look at the
// ordinal of a call alone ([OrdinalWhen]) and none of them matches, such a call is
// Calm at once. It is then counted for the lane, and not by its unknown key.
func (in *Injector) Arrive(ctx context.Context, target, alias string, layer Layer, unread bool) (c Crossing) {
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
	if unread && set.ordinal && !in.opts.RecordAll && !set.site.failing.Load() {
		at, quiet := set.count(0)
		if c.decision.coords, c.counted = at, true; quiet {
			return c
		}
	}
	c.state = waits
	return c
}

// Waiting reports whether the call needs its key to go on: see [Crossing.Meet].
func (c *Crossing) Waiting() bool { return c.state == waits }

// WantsArgs reports whether Meet needs the arguments: a trigger looks at them, or
// they are kept.
func (c *Crossing) WantsArgs() bool {
	return c.state == waits && (c.decision.set.args || c.in.opts.KeepValues)
}

// Meet gives the call its key, as that of [WrapOptions], and asks the triggers of
// the rules in force. args may be nil if [Crossing.WantsArgs] is false. A fault that
// is only an error is injected here.
func (c *Crossing) Meet(key uint64, args any) {
	if c.state != waits {
		return
	}
	s := c.decision.set.site
	switch {
	case !c.counted:
		at, quiet := c.decision.set.count(key)
		if c.decision.coords = at; quiet {
			c.state = passes
			return
		}
	case key != 0:
		s.mix()
		c.decision.key, c.decision.occurrence = key, s.occurrence(key)
	}
	c.counted = true
	var quiet bool
	switch c.matched, quiet, c.err = matchRules(c.ctx, &c.decision, args); {
	case c.err != nil:
		c.state = refused
	case quiet:
		c.state = passes
	default:
		c.state = meets
	}
}

// Calm reports whether the call goes straight to its callee, without an event.
// [Crossing.Passed] then takes how it ended.
func (c *Crossing) Calm() bool { return c.state == passes }

// Err is the error for the caller if the callee is not reached: an [*InjectedError],
// or [ErrCellEnded]. nil: the call goes on.
func (c *Crossing) Err() error { return c.err }

// Passed records how a Calm call ended, so that the next call with that key has the
// right [Event].Attempt. failed is its error; nil: it ended well. Do not call it if
// the key is unknown.
func (c *Crossing) Passed(key uint64, failed error) {
	if c.decision.set != nil && c.state == passes {
		c.decision.set.site.passed(c.decision.frame, key, failed)
	}
}

// goOn continues a call that rules act on, or that is recorded.
func goOn[In, Out any](ctx context.Context, x *Crossing, c *callee[In, Out], in In) (Out, error) {
	switch x.state {
	case meets:
		return decide(ctx, &x.decision, x.matched, c, in)
	case refused:
		var none Out
		return none, x.err
	}
	return c.fn(ctx, in)
}
