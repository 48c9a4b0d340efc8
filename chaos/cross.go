package chaos

import (
	"cmp"
	"context"
	"time"
)

// enter finds out whether anything can happen to a call: no bindings and no
// error mean that it goes straight through.
func (in *Injector) enter(p *point, f *frame) (*bindings, error) {
	if in.state.Load() != 0 {
		return in.enterLimited(p, f)
	}
	if f != nil && f.target != "" && f.inside(in, p.target) {
		return nil, nil
	}
	lane, h := "", p.hash
	if f != nil && f.laneHash != 0 {
		lane, h = f.lane, slotHash(callSlot, h, f.laneHash)
	}
	s := in.points.find(h, p.target)
	if s == nil {
		s = in.addSlot(p, lane)
	}
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	return set, nil
}

// enterLimited is enter of an injector that is closed or disarmed. Disarmed, it
// strikes no call but counts all that it would count armed: whether calls are
// recorded must not change what is struck after the next Arm.
func (in *Injector) enterLimited(p *point, f *frame) (*bindings, error) {
	switch {
	case in.state.Load()&stateClosed != 0:
		in.late.Add(1)
		return nil, ErrCellEnded
	case f.inside(in, p.target):
		return nil, nil
	}
	lane := ""
	if f != nil {
		lane = f.lane
	}
	s := in.addSlot(p, lane)
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	for _, g := range set.groups {
		g.calls.Add(1)
	}
	return &s.calm, nil
}

// cross takes one call over its injection point.
func cross[In, Out any](ctx context.Context, f *frame, set *bindings, c *callee[In, Out], in In, key uint64) (Out, error) {
	at, calm := set.count(key)
	if !calm {
		return aimed(ctx, &visit{set: set, frame: f, layer: c.layer, coords: at}, c, in)
	}
	out, err := c.fn(ctx, in)
	set.slot.passed(f, key, err)
	return out, err
}

// aimed is a call that takes more than counting.
func aimed[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], in In) (Out, error) {
	d, _, err := draw(v, in)
	if err != nil {
		var none Out
		return none, err
	}
	return decide(ctx, v, d, c, in)
}

// decide does what the rules say that draw left to do, or records the call.
func decide[In, Out any](ctx context.Context, v *visit, d drawn, c *callee[In, Out], in In) (Out, error) {
	if d.first == nil {
		return unstruck(ctx, v, c, in)
	}
	return acted(ctx, v, d, c, in)
}

// unstruck is a call that no rule strikes.
func unstruck[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], in In) (Out, error) {
	if v.set.slot.in.opts.RecordAll || v.kept.idles() {
		return recorded(ctx, v, c, in)
	}
	out, err := c.fn(ctx, in)
	v.set.slot.passed(v.frame, v.key, err)
	return out, err
}

// failure is what a fault that is only an error needs where values are kept: in one allocation.
type failure struct {
	err    InjectedError
	values values
}

// fail strikes with the first that may of rules that are only errors. It
// returns nil when all rest, or when that one makes no error after all.
func fail[In any](v *visit, d drawn, in In) error {
	i := v.firstToInject(&d)
	if i == d.len() {
		return nil
	}
	if !v.set.slot.in.opts.KeepValues {
		return v.fail(&d, i, nil, nil)
	}
	args, wrong := encode(in)
	return v.fail(&d, i, &failure{values: values{args: args}}, wrong)
}

// firstToInject reserves the first of the failures that may be injected, and returns its
// place, or their number where none may.
func (v *visit) firstToInject(d *drawn) int {
	for i := range d.len() {
		if v.reserve(d.at(i)) {
			return i
		}
	}
	return d.len()
}

// fail strikes with the i-th of the failures, which hides those behind it. x is
// nil where values are not kept; wrong says why the arguments could not be.
func (v *visit) fail(d *drawn, i int, x *failure, wrong error) error {
	b, returned := d.at(i), false
	defer func() {
		if !returned {
			v.struck(d, i, nil, panicked, x, wrong)
		}
	}()
	cause := b.failer.Fail(v.call(b.own))
	returned = true
	if cause == nil {
		b.settle(false)
		k := v.keep()
		k.idle, k.masked = b.active, d.behind(i)
		return nil
	}
	var err *InjectedError
	if x == nil {
		err = &InjectedError{}
	} else {
		err = &x.err
	}
	*err = InjectedError{Rule: b.Name, Target: v.set.slot.target, Ordinal: v.ordinal, Err: cause}
	v.struck(d, i, err, injected, x, wrong)
	return err
}

// struck logs what a fault did that is only an error.
func (v *visit) struck(d *drawn, i int, err error, how outcome, x *failure, wrong error) {
	b := d.at(i)
	b.settle(true)
	var r record
	v.open(&r)
	r.begun = v.set.slot.in.begun.Load() + 1 // after all that began, without a number of its own
	v.kept.tell(&r)
	r.end, r.main, r.delivered = r.start, b.active, true
	r.outcome, r.effect, r.err = how, none, err
	if i+1 < d.len() {
		if r.more == nil {
			r.more = &details{}
		}
		r.more.masked = d.behind(i)
	}
	if x != nil {
		r.values = &x.values
		if wrong != nil {
			r.note(notKept("arguments", wrong))
		}
	}
	v.set.slot.in.keep(&r)
}

// open begins the record of a call.
func (v *visit) open(r *record) {
	v.begin()
	r.slot, r.layer, r.start, r.attempt = v.set.slot, v.layer, v.at.elapsed, v.at.attempt
	r.key, r.occurrence, r.ordinal = v.key, v.occurrence, v.ordinal
	if f := v.frame; f != nil {
		r.caller, r.turn, r.attempt = f.target, f.turn, cmp.Or(f.attempt, r.attempt)
	}
}

// timed is where a call stands in time, read at most once.
type timed struct {
	known   bool
	elapsed time.Duration
	attempt int // 1 + the failures before it that had ended by then
}

// begin reads the failures first: all that it counts had ended by the time that it reads then.
func (v *visit) begin() {
	if s := v.set.slot; !v.at.known {
		attempt := s.attempt(streak{v.frame.caller(), v.key})
		v.at = timed{known: true, attempt: attempt, elapsed: s.in.Elapsed()}
	}
}

// recorded is a call that no rule struck, in an injector that keeps all. Its
// one allocation is the frame by which inner calls know their caller.
func recorded[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], in In) (out Out, err error) {
	s := v.set.slot
	inner := &frame{}
	inner.within(ctx, v.frame, s)
	var r record
	v.open(&r)
	v.kept.tell(&r)
	r.begun = s.in.begun.Add(2)
	s.in.begins(&r)
	keep := s.in.opts.KeepValues
	returned := false
	defer func() {
		r.ends(err)
		r.outcome = outcomeOf(err, !returned)
		r.effect = effectOf(c.effect, err == nil && returned)
		if keep && returned && err == nil {
			keepResult(&r, out)
		}
		s.in.keep(&r)
	}()
	if keep {
		keepArgs(&r, in) // now: the callee may change them
	}
	out, err = c.fn(inner, in)
	returned = true
	return out, err
}

// acted is a call that meets faults other than a single failure.
func acted[In, Out any](ctx context.Context, v *visit, d drawn, c *callee[In, Out], in In) (out Out, err error) {
	x := &strike{visit: *v, effect: c.effect}
	v.open(&x.rec)
	x.rec.begun = v.set.slot.in.begun.Add(2)
	if x.begin(ctx, d); len(x.acts) == 0 {
		v.kept = x.kept
		return unstruck(ctx, v, c, in)
	}
	x.set.slot.in.begins(&x.rec)
	if c.attach != nil {
		c.attach(x)
	}
	x.callee = func(ctx context.Context, args any) (any, error) {
		in, _ := args.(In) // pass made it fit; nil is the zero value
		x.runs++
		out, err := c.fn(ctx, in)
		if unsent(err) {
			x.runs--
		}
		return out, err
	}
	x.late = func(ctx context.Context, args any) (any, error) { return overdue(ctx, &x.visit, c, args) }
	x.shape = c
	keep := v.set.slot.in.opts.KeepValues
	returned := false
	defer func() {
		well := returned && err == nil
		if !well || !x.outlasted() {
			x.close()
		}
		if keep && well {
			keepResult(&x.rec, out)
		}
		x.judgeResult(err, !returned)
		if x.leave() {
			x.finish(err, !returned)
		}
	}()
	if keep {
		keepArgs(&x.rec, in)
	}
	result, err := x.run(0, &x.frame, in)
	out, _ = result.(Out) // run made it fit; nil is the zero value
	returned = true
	return out, err
}

// overdue executes a call whose caller has gone, on behalf of a later one: in
// its own lane and under its own name, without an event.
func overdue[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], args any) (any, error) {
	s := v.set.slot
	if s.in.state.Load()&stateClosed != 0 {
		s.in.late.Add(1)
		return nil, ErrCellEnded
	}
	in, err := as[In](args)
	if err != nil {
		return nil, err
	}
	inner := &frame{}
	inner.within(ctx, v.frame, s)
	fn := c.fn
	if c.unseen != nil {
		fn = c.unseen
	}
	return fn(inner, in)
}
