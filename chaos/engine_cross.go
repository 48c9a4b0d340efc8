package chaos

import (
	"cmp"
	"context"
	"time"
)

func cross[In, Out any](ctx context.Context, f *frame, set *siteRules, c *callee[In, Out], in In,
	key uint64) (Out, error) {
	at, through := set.count(key)
	if !through {
		return matchAndDecide(ctx, &decision{set: set, frame: f, layer: c.layer, coords: at}, c, in)
	}
	out, err := c.call(ctx, in)
	set.site.passed(f, key, err)
	return out, err
}

func matchAndDecide[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (Out, error) {
	m, _, err := matchRules(ctx, d, in)
	if err != nil {
		var none Out
		return none, err
	}
	return decide(ctx, d, m, c, in)
}

func decide[In, Out any](ctx context.Context, d *decision, m matchedRules, c *callee[In, Out], in In) (Out, error) {
	if m.first == nil {
		return callThrough(ctx, d, c, in)
	}
	return callInjected(ctx, d, m, c, in)
}

func callThrough[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (Out, error) {
	if d.set.site.in.opts.RecordAll || d.idle != nil {
		return callRecorded(ctx, d, c, in)
	}
	out, err := c.call(ctx, in)
	d.set.site.passed(d.frame, d.key, err)
	return out, err
}

func (d *decision) open(ctx context.Context, r *record) {
	d.begin()
	r.site, r.layer, r.start, r.attempt = d.set.site, d.layer, d.at.elapsed, d.at.attempt
	r.key, r.occurrence, r.ordinal, r.main, r.more = d.key, d.occurrence, d.ordinal, d.idle, d.more
	r.begins(ctx)
	if f := d.frame; f != nil {
		r.caller, r.turn, r.stated = f.target, f.turn, f.attempt != 0
		r.attempt = cmp.Or(f.attempt, r.attempt)
		if f.habit != "" {
			r.more = d.detail()
			r.more.habit = f.habit
		}
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

// recording is a call that leaves an event and has none yet.
type recording struct {
	inner frame // what the callee and the faults see
	rec   record
	link  openLink
}

// beginRecord begins the record of a call that is not only an injected error. whole is the
// recording, or the injection that it is a part of.
func beginRecord[In any](r *recording, d *decision, whole openCall, in In) {
	s := d.set.site
	s.in.notifyBegin(&r.inner, &r.rec)
	if s.in.opts.KeepValues {
		keepArgs(&r.rec, in) // before the call: the callee may change them
	}
	s.in.open.add(&r.link, whole)
}

// callRecorded makes and records a call without an injection, with one allocation.
func callRecorded[In, Out any](ctx context.Context, d *decision, c *callee[In, Out], in In) (out Out, err error) {
	s := d.set.site
	x := &recording{}
	inner, r := &x.inner, &x.rec
	inner.within(ctx, d.frame, s)
	d.open(ctx, r)
	r.begun = s.in.begun.Add(2)
	r.effect = effectOf(c.effect, false) // as long as it is open
	beginRecord(x, d, x, in)
	returned := false
	defer func() {
		if !s.in.open.take(&x.link) {
			return
		}
		r.ends(err)
		r.outcome = outcomeOf(err, !returned)
		r.effect = effectOf(c.effect, err == nil && returned)
		if s.in.opts.KeepValues && returned && err == nil {
			r.keepResult(encode(out))
		}
		s.in.keep(inner, r)
	}()
	out, err = c.call(inner, in)
	returned = true
	return out, err
}

// late makes a call whose caller has returned, from within a later call. It has
// the lane and the target of the first call, and leaves no event.
func (c *callee[In, Out]) late(ctx context.Context, x *injection, args any) (any, error) {
	s := x.set.site
	if s.in.state.Load()&stateClosed != 0 {
		s.in.late.Add(1)
		return nil, ErrCellEnded
	}
	in, err := as[In](args)
	if err != nil {
		return nil, err
	}
	inner := &frame{}
	inner.within(ctx, x.frame, s)
	if c.unseen != nil {
		return c.unseen(inner, in)
	}
	return c.call(inner, in)
}
