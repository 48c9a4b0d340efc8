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

// failer returns the failure when that is all there is to the call.
func (d *drawn) failer() Failer {
	if len(d.more) > 0 {
		return nil
	}
	return d.first.failer
}

// visit is a call on its way over an injection point: what is needed to decide
// on it, and no more. A [Call] is made of it for those who ask for one.
type visit struct {
	set        *bindings
	frame      *frame // nil: the context carried none
	layer      Layer
	key        uint64
	ordinal    uint64
	occurrence uint64
	at         timed
	kept       *kept // what the rails held back; nil: nothing
}

// quiet tells whether triggers that are nothing but chance let a call be.
func (set *bindings) quiet(key, occurrence uint64) bool {
	for i := range set.rules {
		if b := &set.rules[i]; place(b.coord, key, occurrence, 0)>>(64-hash.UnitBits) < b.limit {
			return false
		}
	}
	return true
}

// drawSimple asks triggers that are nothing but chance.
func (set *bindings) drawSimple(key, occurrence uint64) (d drawn) {
	for i := range set.rules {
		if b := &set.rules[i]; place(b.coord, key, occurrence, 0)>>(64-hash.UnitBits) < b.limit {
			d.add(b)
		}
	}
	return d
}

// draw asks every rule in force. If a trigger turns out to look at the clock,
// which had not been read, all are asked again with one time for all: triggers
// are pure, so asking twice changes nothing.
func (v *visit) draw(args any) drawn {
	if s := v.set.slot; s.clock.Load() {
		v.at.read(s.in)
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
	if s := v.set.slot; !v.at.known && s.clock.Load() {
		v.at.read(s.in)
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
