package chaos

import (
	"context"

	"github.com/shakedown-go/shakedown/internal/hash"
)

// matchedRules are the rules whose triggers match one call, in the order of the
// list. Nearly always there is at most one, which allocates nothing.
type matchedRules struct {
	first *siteRule
	more  []*siteRule
}

func (m *matchedRules) add(b *siteRule) {
	if m.first == nil {
		m.first = b
		return
	}
	m.more = append(m.more, b)
}

func (m *matchedRules) len() int {
	if m.first == nil {
		return 0
	}
	return 1 + len(m.more)
}

func (m *matchedRules) rule(i int) *siteRule {
	if i == 0 {
		return m.first
	}
	return m.more[i-1]
}

// behind returns the names of the rules after the i-th; nil: there are none.
func (m *matchedRules) behind(i int) []string {
	if i+1 == m.len() {
		return nil
	}
	names := make([]string, 0, m.len()-i-1)
	for i++; i < m.len(); i++ {
		names = append(names, m.rule(i).Name)
	}
	return names
}

func (m *matchedRules) failers() bool {
	for i := range m.len() {
		if m.rule(i).failer == nil {
			return false
		}
	}
	return true
}

func (m *matchedRules) limited() bool {
	for i := range m.len() {
		if m.rule(i).quota != nil {
			return true
		}
	}
	return false
}

// decision is a call at its injection point while the triggers of the rules in force
// are asked about it. A [Call] is made of it only for a trigger or a fault that needs
// one.
type decision struct {
	set   *siteRules
	frame *frame // nil: the context carried none
	layer Layer
	coords
	at   timed
	lone bool      // one rule matched, and calls are not recorded: if it is held back, there is no event
	more *details  // of rules that were held back or made no error, and the habit; nil: there are none
	idle *liveRule // a failure that made no error; nil: there was none
}

type coords struct{ key, ordinal, occurrence uint64 }

// count gives a call its coordinates. through is true if they alone show that no
// rule matches the call and that it leaves no event.
func (set *siteRules) count(key uint64) (at coords, through bool) {
	s := set.site
	if at.key = key; key != 0 {
		s.mix()
	}
	at.ordinal = s.calls.Add(1) - 1
	at.occurrence = at.ordinal
	if at.ordinal&mixed != 0 {
		at.ordinal &^= mixed
		at.occurrence = s.occurrence(key)
	}
	return at, set.quick && set.firstMatch(0, at) == len(set.rules)
}

// matchRules asks the triggers of the rules in force. err is the error that the
// caller gets if a failure was injected. through means that the call goes straight
// to its callee and leaves no event. Nothing was allocated then, except for the arguments
// if a trigger wants them.
func matchRules[In any](ctx context.Context, d *decision, in In) (m matchedRules, through bool, err error) {
	switch {
	case d.set.simple:
		m = d.set.matchSimple(d.coords)
	case d.set.args:
		m = d.match(in)
	default:
		m = d.match(nil)
	}
	if m.limited() {
		m = d.dropHeldBack(m)
	}
	record := d.set.site.in.opts.RecordAll
	d.lone = len(m.more) == 0 && !record
	if m.first != nil && m.failers() { // the usual case, which needs neither a frame nor the callee
		if err = injectFailure(ctx, d, m, in); err != nil {
			return m, false, err
		}
		m = matchedRules{}
	}
	return m, m.first == nil && !record && d.idle == nil, nil
}

func (d *decision) dropHeldBack(m matchedRules) (rest matchedRules) {
	d.lone = len(m.more) == 0 && !d.set.site.in.opts.RecordAll
	for i := range m.len() {
		if b := m.rule(i); b.quota.heldBack() {
			d.noteHeldBack(b, "")
		} else {
			rest.add(b)
		}
	}
	return rest
}

// firstMatch is the index of the first rule of a simple set, from i on, whose
// trigger matches; the number of rules if there is none.
func (set *siteRules) firstMatch(i int, at coords) int {
	for ; i < len(set.rules); i++ {
		b := &set.rules[i]
		if b.ordinals != nil {
			if b.ordinals.MatchOrdinal(at.ordinal - b.base) {
				break
			}
		} else if place(b.coord, at.key, at.occurrence, 0)>>(64-hash.UnitBits) < b.limit {
			break
		}
	}
	return i
}

func (set *siteRules) matchSimple(at coords) (m matchedRules) {
	for i := set.firstMatch(0, at); i < len(set.rules); i = set.firstMatch(i+1, at) {
		m.add(&set.rules[i])
	}
	return m
}

// match asks the trigger of every rule in force. If a trigger turns out to need the clock,
// which had not been read, all are asked again with one time for all. Triggers are pure.
func (d *decision) match(args any) matchedRules {
	clock := &d.set.site.clock
	if clock.Load() {
		d.begin()
	}
	var room [4]uint64
	counts := room[:0]
	for _, g := range d.set.groups {
		counts = append(counts, g.calls.Add(1)-1)
	}
	m := d.matchOnce(args, counts)
	if !d.at.known && clock.Load() {
		d.begin()
		m = d.matchOnce(args, counts)
	}
	return m
}

func (d *decision) matchOnce(args any, groupCounts []uint64) (m matchedRules) {
	var c Call // filled in place: copying what was just written stalls the processor
	d.fill(&c)
	for i := range d.set.rules {
		b := &d.set.rules[i]
		key, occurrence, ordinal := d.key, d.occurrence, d.ordinal-b.base
		if b.group >= 0 {
			ordinal = groupCounts[b.group] - b.base
			key, occurrence = 0, ordinal
		}
		var hit bool
		switch {
		case b.When == nil:
			hit = true
		case b.ordinals != nil:
			hit = b.ordinals.MatchOrdinal(ordinal)
		case b.chancy:
			hit = place(b.coord, key, occurrence, 0)>>(64-hash.UnitBits) < b.limit
		default:
			c.coord, c.Key, c.Occurrence, c.Ordinal = b.coord, key, occurrence, ordinal
			if b.args {
				hit = b.When.(ArgsWhen).MatchArgs(c, args)
			} else {
				hit = b.When.Match(c)
			}
		}
		if hit {
			m.add(b)
		}
	}
	return m
}

func (d *decision) detail() *details {
	if d.more == nil {
		d.more = &details{}
	}
	return d.more
}

func (d *decision) call(coord uint64) (c Call) {
	d.fill(&c)
	c.coord = coord
	return c
}

func (d *decision) fill(c *Call) {
	s := d.set.site
	c.Cell, c.Lane, c.Target = s.in.cell, s.lane, s.target
	c.Key, c.Occurrence, c.Ordinal = d.key, d.occurrence, d.ordinal
	if d.frame != nil {
		c.Turn = d.frame.turn
	}
	if d.at.known {
		c.at = d.at.elapsed
	} else {
		c.clock = s
	}
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
	i := 0
	for ; i < m.len() && !d.reserve(m.rule(i)); i++ {
	}
	if i == m.len() {
		return nil
	}
	var args any // boxed for the few that look at it
	if _, ok := m.rule(i).failer.(ArgsFailer); ok {
		args = in
	}
	if !d.set.site.in.opts.KeepValues {
		return d.failWith(ctx, &m, i, args, nil, nil)
	}
	kept, wrong := encode(in)
	return d.failWith(ctx, &m, i, args, &failure{values: values{args: kept, exchange: exchangeOf(in)}}, wrong)
}

func fail(f Failer, c Call, args any) (note string, err error) {
	if f, ok := f.(ArgsFailer); ok {
		return f.FailArgs(c, args)
	}
	return "", f.Fail(c)
}

// failWith injects the i-th of the failures, which masks those after it. x is nil if
// values are not kept. wrong is why the arguments could not be kept; nil: they were.
func (d *decision) failWith(ctx context.Context, m *matchedRules, i int, args any, x *failure, wrong error) error {
	b, returned := m.rule(i), false
	defer func() {
		if !returned {
			d.keepFailure(ctx, m, i, nil, OutcomePanicked, x, wrong)
		}
	}()
	note, cause := fail(b.failer, d.call(b.faultCoord), args)
	returned = true
	if note != "" {
		d.detail().addNote(note)
	}
	if cause == nil {
		b.settle(false)
		d.idle, d.detail().masked = b.liveRule, m.behind(i)
		return nil
	}
	var err *InjectedError
	if x != nil {
		err = &x.err
	} else {
		err = &InjectedError{}
	}
	*err = InjectedError{Rule: b.Name, Target: d.set.site.target, Ordinal: d.ordinal, Err: cause}
	d.keepFailure(ctx, m, i, err, OutcomeInjected, x, wrong)
	return err
}

func (d *decision) keepFailure(ctx context.Context, m *matchedRules, i int, err error, how Outcome, x *failure,
	wrong error) {
	b := m.rule(i)
	b.settle(true)
	var r record
	d.open(ctx, &r)
	r.begun = d.set.site.in.begun.Add(2) - 1 // odd: sorted behind all calls that began, and no number
	r.ended = r.begun
	r.end, r.main, r.delivered = r.start, b.liveRule, true
	r.outcome, r.effect, r.err = how, EffectNone, err
	if masked := m.behind(i); masked != nil {
		d.detail().masked = masked
		r.more = d.more
	}
	if x != nil {
		r.values = &x.values
		if wrong != nil {
			r.note(notKept("arguments", wrong))
		}
	}
	d.set.site.in.keep(ctx, &r)
}
