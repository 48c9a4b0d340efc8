package chaos

import (
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
	if len(set.rules) == 0 && !in.opts.Record {
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
	if len(set.rules) == 0 && !in.opts.Record {
		return nil, nil
	}
	for _, g := range set.groups {
		g.calls.Add(1)
	}
	return &s.calm, nil
}

// cross takes one call over its injection point.
func cross[In, Out any](ctx context.Context, f *frame, set *bindings, c *callee[In, Out], in In, key uint64) (Out, error) {
	s := set.slot
	ordinal := s.calls.Add(1) - 1
	if g := s.in.rails; g != nil && len(set.rules) > 0 {
		g.crossed()
	}
	occurrence := ordinal
	if key != 0 || s.mixed.Load() {
		occurrence = s.occurrence(key, ordinal)
	}
	if set.simple && !s.in.opts.Record && set.quiet(key, occurrence) {
		out, err := c.fn(ctx, in)
		if err != nil || s.failing.Load() {
			s.ended(f.caller(), key, err != nil) // counts towards the attempt of the next call
		}
		return out, err
	}
	v := visit{set: set, frame: f, layer: c.layer, key: key, ordinal: ordinal, occurrence: occurrence}
	return decide(ctx, &v, c, in)
}

// decide draws the rules of a call, and does what they say.
func decide[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], in In) (Out, error) {
	var d drawn
	switch {
	case v.set.simple:
		d = v.set.drawSimple(v.key, v.occurrence)
	case v.set.args:
		d = v.draw(in)
	default:
		d = v.draw(nil)
	}
	switch {
	case d.first == nil:
		return unstruck(ctx, v, c, in)
	case d.failer() == nil || v.set.slot.in.opts.KeepValues:
		return acted(ctx, v, d, c, in)
	}
	// Most faults are only an error, which needs neither arguments nor callee.
	if err := v.fail(d.first); err != nil {
		var none Out
		return none, err
	}
	return unstruck(ctx, v, c, in)
}

// unstruck is a call that no rule strikes.
func unstruck[In, Out any](ctx context.Context, v *visit, c *callee[In, Out], in In) (Out, error) {
	s := v.set.slot
	if s.in.opts.Record {
		return recorded(ctx, v, c, in)
	}
	out, err := c.fn(ctx, in)
	if err != nil || s.failing.Load() {
		s.ended(v.frame.caller(), v.key, err != nil)
	}
	return out, err
}

// fail strikes with a fault that is only an error. It returns nil when the
// rule rests, or makes no error after all.
func (v *visit) fail(b *bound) error {
	if !v.reserve(b) {
		return nil
	}
	returned := false
	defer func() {
		if !returned {
			v.struck(b, nil, panicked)
		}
	}()
	cause := b.failer.Fail(v.call(b.own))
	returned = true
	if cause == nil {
		b.settle(false)
		return nil
	}
	err := &InjectedError{Rule: b.Name, Target: v.set.slot.target, Ordinal: v.ordinal, Err: cause}
	v.struck(b, err, injected)
	return err
}

// struck logs what a fault did that is only an error.
func (v *visit) struck(b *bound, err error, how outcome) {
	b.settle(true)
	var r record
	v.open(&r)
	r.begun = v.set.slot.in.begun.Load() + 1 // after all that began, without a number of its own
	r.end, r.main, r.delivered = r.start, b.active, true
	r.outcome, r.effect, r.err = how, none, err
	v.set.slot.in.keep(&r)
}

// open begins the record of a call.
func (v *visit) open(r *record) {
	s := v.set.slot
	v.at.read(s.in)
	r.slot, r.layer, r.start = s, v.layer, v.at.elapsed
	r.key, r.occurrence, r.ordinal = v.key, v.occurrence, v.ordinal
	if f := v.frame; f != nil {
		r.caller, r.turn, r.attempt = f.target, f.turn, f.attempt
	}
}

// timed is the time of a call, read at most once.
type timed struct {
	known   bool
	elapsed time.Duration
}

func (t *timed) read(in *Injector) {
	if !t.known {
		t.known, t.elapsed = true, in.Elapsed()
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
	keep := s.in.opts.KeepValues
	returned := false
	defer func() {
		r.end, r.err = s.in.Elapsed(), err
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
	if c.attach != nil {
		c.attach(x)
	}
	x.callee = func(ctx context.Context, args any) (any, error) {
		in, _ := args.(In) // pass made it fit; nil is the zero value
		x.runs++
		return c.fn(ctx, in)
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
