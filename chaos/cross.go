package chaos

import (
	"cmp"
	"context"
	"time"
)

// enter returns the rules of a call's site. nil without an error means that nothing
// can happen to the call: it goes straight to its callee.
func (in *Injector) enter(p *point, f *frame) (*siteRules, error) {
	if in.state.Load() != 0 {
		return in.enterInactive(p, f)
	}
	if f != nil && f.target != "" && f.inside(in, p.target) {
		return nil, nil
	}
	lane, h := "", p.hash
	if f != nil && f.laneHash != 0 {
		lane, h = f.lane, siteHash(callSite, h, f.laneHash)
	}
	s := in.points.find(h, p.target)
	if s == nil {
		s = in.addSite(p, lane)
	}
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	return set, nil
}

// enterInactive is enter of an injector that is closed or disarmed. A disarmed one
// injects into no call but counts all that it would count if armed, so that
// recording calls does not change what is injected after the next Arm. One that was
// never armed lets calls pass.
func (in *Injector) enterInactive(p *point, f *frame) (*siteRules, error) {
	switch {
	case in.state.Load()&stateClosed != 0:
		in.late.Add(1)
		return nil, ErrCellEnded
	case in.state.Load()&stateAwaiting != 0, f.inside(in, p.target):
		return nil, nil
	}
	lane := ""
	if f != nil {
		lane = f.lane
	}
	s := in.addSite(p, lane)
	set := s.set.Load()
	if len(set.rules) == 0 && !in.opts.RecordAll {
		return nil, nil
	}
	for _, g := range set.groups {
		g.calls.Add(1)
	}
	return &s.empty, nil
}

// cross makes one call through its injection point.
func cross[In, Out any](ctx context.Context, f *frame, set *siteRules, c *callee[In, Out], in In, key uint64) (Out, error) {
	at, through := set.count(key)
	if !through {
		return matchAndDecide(ctx, &decision{set: set, frame: f, layer: c.layer, coords: at}, c, in)
	}
	out, err := c.fn(ctx, in)
	set.site.passed(f, key, err)
	return out, err
}

// matchAndDecide handles a call that needs more than counting.
func matchAndDecide[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (Out, error) {
	m, _, err := matchRules(ctx, d, in)
	if err != nil {
		var none Out
		return none, err
	}
	return decide(ctx, d, m, c, in)
}

// decide injects the matched rules, or makes the call without one.
func decide[In, Out any](ctx context.Context, d *decision, m matchedRules, c *callee[In, Out], in In) (Out, error) {
	if m.first == nil {
		return callThrough(ctx, d, c, in)
	}
	return callInjected(ctx, d, m, c, in)
}

// callThrough makes a call without an injection.
func callThrough[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (Out, error) {
	if d.set.site.in.opts.RecordAll || d.unused.someIdle() {
		return callRecorded(ctx, d, c, in)
	}
	out, err := c.fn(ctx, in)
	d.set.site.passed(d.frame, d.key, err)
	return out, err
}

// failure is the error and the values of a fault that is only an error, in one
// allocation.
type failure struct {
	err    InjectedError
	values values
}

// injectFailure injects the first of the matched rules that is not held back; all of
// them are only errors. It returns nil if all are held back, or if that one makes no
// error.
func injectFailure[In any](ctx context.Context, d *decision, m matchedRules, in In) error {
	i := d.firstToInject(&m)
	if i == m.len() {
		return nil
	}
	if !d.set.site.in.opts.KeepValues {
		return d.failWith(ctx, &m, i, nil, nil)
	}
	args, wrong := encode(in)
	return d.failWith(ctx, &m, i, &failure{values: values{args: args}}, wrong)
}

// firstToInject reserves the first of the failures that may be injected. It returns
// its index, or their number if none may.
func (d *decision) firstToInject(m *matchedRules) int {
	for i := range m.len() {
		if d.reserve(m.at(i)) {
			return i
		}
	}
	return m.len()
}

// failWith injects the i-th of the failures, which masks those after it. x is nil if
// values are not kept. wrong is why the arguments could not be kept; nil: they were.
func (d *decision) failWith(ctx context.Context, m *matchedRules, i int, x *failure, wrong error) error {
	b, returned := m.at(i), false
	defer func() {
		if !returned {
			d.keepFailure(ctx, m, i, nil, panicked, x, wrong)
		}
	}()
	cause := b.failer.Fail(d.call(b.faultCoord))
	returned = true
	if cause == nil {
		b.settle(false)
		k := d.addUnused()
		k.idle, k.masked = b.liveRule, m.behind(i)
		return nil
	}
	var err *InjectedError
	if x == nil {
		err = &InjectedError{}
	} else {
		err = &x.err
	}
	*err = InjectedError{Rule: b.Name, Target: d.set.site.target, Ordinal: d.ordinal, Err: cause}
	d.keepFailure(ctx, m, i, err, injected, x, wrong)
	return err
}

// keepFailure logs the event of a fault that is only an error.
func (d *decision) keepFailure(ctx context.Context, m *matchedRules, i int, err error, how outcome, x *failure, wrong error) {
	b := m.at(i)
	b.settle(true)
	var r record
	d.open(&r)
	r.begun = d.set.site.in.begun.Add(2) - 1 // odd: sorted behind all calls that began, and no number
	r.ended = r.begun
	d.unused.addTo(&r)
	r.end, r.main, r.delivered = r.start, b.liveRule, true
	r.outcome, r.effect, r.err = how, none, err
	if i+1 < m.len() {
		if r.more == nil {
			r.more = &details{}
		}
		r.more.masked = m.behind(i)
	}
	if x != nil {
		r.values = &x.values
		if wrong != nil {
			r.note(notKept("arguments", wrong))
		}
	}
	d.set.site.in.keep(ctx, &r)
}

// open begins the record of a call.
func (d *decision) open(r *record) {
	d.begin()
	r.site, r.layer, r.start, r.attempt = d.set.site, d.layer, d.at.elapsed, d.at.attempt
	r.key, r.occurrence, r.ordinal = d.key, d.occurrence, d.ordinal
	if f := d.frame; f != nil {
		r.caller, r.turn, r.attempt = f.target, f.turn, cmp.Or(f.attempt, r.attempt)
	}
}

// timed is when a call began; it is read at most once.
type timed struct {
	known   bool
	elapsed time.Duration
	attempt int // 1 + the failed calls directly before it that had ended by then
}

// begin reads the count of failures before the clock, so that all failures counted
// ended before that time.
func (d *decision) begin() {
	if s := d.set.site; !d.at.known {
		attempt := s.attempt(streak{d.frame.caller(), d.key})
		d.at = timed{known: true, attempt: attempt, elapsed: s.in.Elapsed()}
	}
}

// callRecorded makes and records a call without an injection. Its one allocation is
// the frame by which inner calls know their caller.
func callRecorded[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (out Out, err error) {
	s := d.set.site
	inner := &frame{}
	inner.within(ctx, d.frame, s)
	var r record
	d.open(&r)
	d.unused.addTo(&r)
	r.begun = s.in.begun.Add(2)
	s.in.notifyBegin(inner, &r)
	keep := s.in.opts.KeepValues
	returned := false
	defer func() {
		r.ends(err)
		r.outcome = outcomeOf(err, !returned)
		r.effect = effectOf(c.effect, err == nil && returned)
		if keep && returned && err == nil {
			keepResult(&r, out)
		}
		s.in.keep(inner, &r)
	}()
	if keep {
		keepArgs(&r, in) // before the call: the callee may change them
	}
	out, err = c.fn(inner, in)
	returned = true
	return out, err
}

// callInjected makes a call with faults other than a single failure.
func callInjected[In, Out any](ctx context.Context, d *decision, m matchedRules, c *callee[In, Out], in In) (out Out, err error) {
	x := &injection{decision: *d, effect: c.effect}
	d.open(&x.rec)
	x.rec.begun = d.set.site.in.begun.Add(2)
	if x.begin(ctx, m); len(x.rules) == 0 {
		d.unused = x.unused
		return callThrough(ctx, d, c, in)
	}
	x.set.site.in.notifyBegin(&x.frame, &x.rec)
	if c.attach != nil {
		c.attach(x)
	}
	x.callee = func(ctx context.Context, args any) (any, error) {
		in, _ := args.(In) // pass converted it; nil is the zero value
		x.runs++
		out, err := c.fn(ctx, in)
		if unsent(err) {
			x.runs--
		}
		return out, err
	}
	x.late = func(ctx context.Context, args any) (any, error) { return callLate(ctx, &x.decision, c, args) }
	x.shape = c
	keep := d.set.site.in.opts.KeepValues
	returned := false
	defer func() {
		well := returned && err == nil
		if !well || !x.keptOpen() {
			x.close()
		}
		if keep && well {
			keepResult(&x.rec, out)
		}
		x.judgeResult(err, !returned)
		if x.leave() {
			x.settle(err, !returned)
		}
	}()
	if keep {
		keepArgs(&x.rec, in)
	}
	result, err := x.run(0, &x.frame, in)
	out, _ = result.(Out) // run converted it; nil is the zero value
	returned = true
	return out, err
}

// callLate makes a call whose caller has returned, from within a later call. It has
// the lane and the target of the first call, and leaves no event.
func callLate[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], args any) (any, error) {
	s := d.set.site
	if s.in.state.Load()&stateClosed != 0 {
		s.in.late.Add(1)
		return nil, ErrCellEnded
	}
	in, err := as[In](args)
	if err != nil {
		return nil, err
	}
	inner := &frame{}
	inner.within(ctx, d.frame, s)
	fn := c.fn
	if c.unseen != nil {
		fn = c.unseen
	}
	return fn(inner, in)
}
