package chaos

import "github.com/shakedown-go/shakedown/internal/hash"

// drawn are the rules drawn on one call, in the order of the list. Nearly
// always there is at most one, which costs no allocation.
type drawn struct {
	first *bound
	more  []*bound
}

func (d *drawn) add(b *bound) {
	if d.first == nil {
		d.first = b
		return
	}
	d.more = append(d.more, b)
}

func (d *drawn) len() int {
	if d.first == nil {
		return 0
	}
	return 1 + len(d.more)
}

func (d *drawn) at(i int) *bound {
	if i == 0 {
		return d.first
	}
	return d.more[i-1]
}

// behind names the rules after the i-th.
func (d *drawn) behind(i int) []string {
	if i+1 == d.len() {
		return nil
	}
	names := make([]string, 0, d.len()-i-1)
	for i++; i < d.len(); i++ {
		names = append(names, d.at(i).Name)
	}
	return names
}

// failers tells whether all of them are only errors.
func (d *drawn) failers() bool {
	for i := range d.len() {
		if d.at(i).failer == nil {
			return false
		}
	}
	return true
}

// gated tells whether one of them has a limit or a cool-down.
func (d *drawn) gated() bool {
	for i := range d.len() {
		if d.at(i).gated {
			return true
		}
	}
	return false
}

// visit is a call on its way over an injection point: what is needed to decide
// on it, and no more. A [Call] is made of it for those who ask for one.
type visit struct {
	set   *bindings
	frame *frame // nil: the context carried none
	layer Layer
	coords
	at   timed
	lone bool  // one rule was drawn, and calls are not recorded: held back, it leaves no event
	kept *kept // rules that were drawn and did nothing; nil: there are none
}

// coords are the coordinates of a call that are counted, and its key.
type coords struct{ key, ordinal, occurrence uint64 }

// count gives a call its coordinates. It reports calm where it could tell by
// them alone that no rule strikes the call and that nothing is kept of it.
func (set *bindings) count(key uint64) (at coords, calm bool) {
	s := set.slot
	if at.key = key; key != 0 {
		s.mix()
	}
	at.ordinal = s.calls.Add(1) - 1
	at.occurrence = at.ordinal
	if at.ordinal&mixed != 0 {
		at.ordinal &^= mixed
		at.occurrence = s.occurrence(key)
	}
	if set.quick {
		return at, set.match(0, at) == len(set.rules)
	}
	if g := s.in.rails; g != nil && len(set.rules) > 0 {
		g.crossed()
	}
	return at, false
}

// draw asks the rules in force. err is the one that the caller gets where a
// failure struck. calm says that the call goes straight to its callee: no rule
// strikes it, and calls are not recorded. So far no callee is needed, and where
// it is calm nothing is allocated, but for the arguments if a trigger wants them.
func draw[In any](v *visit, in In) (d drawn, calm bool, err error) {
	switch {
	case v.set.simple:
		d = v.set.drawSimple(v.coords)
	case v.set.args:
		d = v.draw(in)
	default:
		d = v.draw(nil)
	}
	if d.gated() {
		d = v.rest(d)
	}
	record := v.set.slot.in.opts.RecordAll
	v.lone = len(d.more) == 0 && !record
	if d.first != nil && d.failers() { // as most are: they need neither a frame nor the callee
		if err = fail(v, d, in); err != nil {
			return d, false, err
		}
		d = drawn{}
	}
	return d, d.first == nil && !record && !v.kept.idles(), nil
}

// rest drops the rules that rest: their limit is used up, or they cool down.
func (v *visit) rest(d drawn) (awake drawn) {
	v.lone = len(d.more) == 0 && !v.set.slot.in.opts.RecordAll
	for i := range d.len() {
		if b := d.at(i); b.rests() {
			v.hold(b, free)
		} else {
			awake.add(b)
		}
	}
	return awake
}

// match finds the first rule of a simple set, from place i on, whose trigger
// matches; the number of rules: there is none.
func (set *bindings) match(i int, at coords) int {
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

// drawSimple asks the triggers of a simple set.
func (set *bindings) drawSimple(at coords) (d drawn) {
	for i := set.match(0, at); i < len(set.rules); i = set.match(i+1, at) {
		d.add(&set.rules[i])
	}
	return d
}

// draw asks every rule in force. If a trigger turns out to look at the clock,
// which had not been read, all are asked again with one time for all: triggers
// are pure, so asking twice changes nothing.
func (v *visit) draw(args any) drawn {
	if v.set.slot.clock.Load() {
		v.begin()
	}
	if len(v.set.groups) == 0 {
		return v.drawAll(args, nil)
	}
	var few [4]uint64
	counts := few[:0]
	for _, g := range v.set.groups {
		counts = append(counts, g.calls.Add(1)-1)
	}
	return v.drawAll(args, counts)
}

func (v *visit) drawAll(args any, groupCounts []uint64) drawn {
	d := v.drawOnce(args, groupCounts)
	if !v.at.known && v.set.slot.clock.Load() {
		v.begin()
		d = v.drawOnce(args, groupCounts)
	}
	return d
}

func (v *visit) drawOnce(args any, groupCounts []uint64) (d drawn) {
	var c Call // spelled out in place: a copy of what was just written stalls the processor
	v.fill(&c)
	for i := range v.set.rules {
		b := &v.set.rules[i]
		key, occurrence, ordinal := v.key, v.occurrence, v.ordinal-b.base
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
			d.add(b)
		}
	}
	return d
}

// call spells the visit out, with the draws of coord.
func (v *visit) call(coord uint64) (c Call) {
	v.fill(&c)
	c.coord = coord
	return c
}

func (v *visit) fill(c *Call) {
	s := v.set.slot
	c.Cell, c.Lane, c.Target = s.in.cell, s.lane, s.target
	c.Key, c.Occurrence, c.Ordinal = v.key, v.occurrence, v.ordinal
	if v.frame != nil {
		c.Turn = v.frame.turn
	}
	if v.at.known {
		c.at = v.at.elapsed
	} else {
		c.clock = s
	}
}
