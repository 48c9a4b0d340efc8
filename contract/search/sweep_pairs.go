package search

import (
	"context"
	"slices"

	"github.com/shakedown-go/shakedown/internal/cover"
	"github.com/shakedown-go/shakedown/internal/fewest"
)

// A pairing follows what becomes of the pairs of faults on the calls of a list's calm run.
type pairing struct {
	s       *sweeper
	l       *promptList
	n       int    // the acts of these calls are 0 to n-1
	usable  []bool // by act: it was tried alone, and was delivered
	equal   []bool // by pair: one takes away the call of the other
	classes []*class
	alone   []bool // by pair
	cut     bool
}

// A class is the invariants that the same single faults break. Where one breaks
// because of a known set, a run tells nothing of another set: so each class has runs
// without its faults that break it alone.
type class struct {
	invariants []int
	eligible   []bool // by act
	need       []bool // by pair: it has not met yet
	left       int    // pairs that have not met
}

func (p *pairing) pairIndex(i, j int) int { return i*p.n + j } // i < j

// allPairs tries the pairs of faults on calls of the calm run.
func (s *sweeper) allPairs(ctx context.Context) error {
	for _, l := range s.lists {
		p := newPairing(s, l)
		err := p.try(ctx)
		p.count(&s.Pairs)
		if err != nil {
			return err
		}
	}
	return nil
}

func newPairing(s *sweeper, l *promptList) *pairing {
	p := &pairing{s: s, l: l}
	for p.n < len(l.Acts) && l.Acts[p.n].call < l.calmly {
		p.n++
	}
	p.usable = make([]bool, p.n)
	p.equal, p.alone = make([]bool, p.n*p.n), make([]bool, p.n*p.n)
	for i := range p.n {
		out := l.runs[actSet{i}.key()]
		p.usable[i] = out != nil && len(out.delivered) == 1
	}
	p.eachPair(func(i, j int) {
		p.equal[p.pairIndex(i, j)] = p.usable[i] && p.usable[j] && (!p.leaves(i, j) || !p.leaves(j, i))
	})
	byBroken := map[string]*class{}
	for x := range l.Invariants {
		if l.explains(x, nil) {
			continue // it breaks in the calm run
		}
		c := &class{eligible: make([]bool, p.n), need: make([]bool, p.n*p.n)}
		key := make([]byte, p.n)
		for i := range p.n {
			if c.eligible[i] = p.usable[i] && !l.explains(x, actSet{i}); c.eligible[i] {
				key[i] = 1
			}
		}
		if known := byBroken[string(key)]; known != nil {
			known.invariants = append(known.invariants, x)
			continue
		}
		c.invariants = []int{x}
		byBroken[string(key)] = c
		p.classes = append(p.classes, c)
		p.eachPair(func(i, j int) {
			if c.eligible[i] && c.eligible[j] && !p.equal[p.pairIndex(i, j)] {
				c.need[p.pairIndex(i, j)] = true
				c.left++
			}
		})
	}
	return p
}

func (p *pairing) leaves(i, j int) bool { return p.l.runs[actSet{i}.key()].made[p.l.Acts[j].call] }

func (p *pairing) eachPair(f func(i, j int)) {
	for i := range p.n {
		for j := i + 1; j < p.n; j++ {
			if p.l.Acts[i].call != p.l.Acts[j].call {
				f(i, j)
			}
		}
	}
}

// try makes rows of faults until each pair has met, or makes a run of its own for it.
func (p *pairing) try(ctx context.Context) error {
	for _, c := range p.classes {
		if c.left == 0 || p.s.Runs.Cut != "" {
			continue
		}
		if err := p.rows(ctx, p.covering(c)); err != nil || p.cut {
			return err
		}
	}
	if p.s.Strength < 2 {
		return nil
	}
	return p.each(ctx)
}

// rows makes runs of many faults each, and looks into those that break more than is known.
func (p *pairing) rows(ctx context.Context, rows []actSet) error {
	outs := make([]*outcome, len(rows))
	tasks := make([]task[*outcome], len(rows))
	for i, set := range rows {
		tasks[i] = func(ask askFunc[*outcome]) {
			if out, ok := ask(p.l.Request(set, 0)); ok {
				outs[i] = out
			}
		}
	}
	err := p.s.Runs.Run(ctx, tasks...)
	for i, out := range outs {
		if out == nil {
			p.cut = true
			continue
		}
		if p.l.runs[rows[i].key()] == nil {
			p.s.Pairs.Runs++
		}
		out.extra = nil
		p.l.keep(rows[i], out)
		p.met(out)
	}
	for len(outs) > 0 && err == nil && p.s.Runs.Cut == "" {
		var more []*outcome
		if outs[0] != nil {
			more, err = p.explain(ctx, outs[0])
		}
		outs = append(more, outs[1:]...)
	}
	return err
}

// met notes the pairs that were delivered together in a run.
func (p *pairing) met(out *outcome) {
	var acts []int
	for _, n := range out.delivered {
		if n < p.n {
			acts = append(acts, n)
		}
	}
	both := len(acts) == 2 && len(out.delivered) == 2
	if both {
		p.alone[p.pairIndex(acts[0], acts[1])] = true
	}
	for _, c := range p.classes {
		if !both && out.brokeAny(c.invariants) {
			continue
		}
		for k, i := range acts {
			for _, j := range acts[k+1:] {
				if at := p.pairIndex(i, j); c.need[at] {
					c.need[at] = false
					c.left--
				}
			}
		}
	}
}

// explain looks for the fewest faults of a run that break what no known set in it breaks.
// It returns the runs that it made, which may break more.
func (p *pairing) explain(ctx context.Context, out *outcome) (made []*outcome, err error) {
	for _, x := range p.l.open(out.delivered) {
		if !out.States[x].Broke {
			continue
		}
		var set actSet
		var minimal bool
		err = p.s.Runs.Run(ctx, func(ask askFunc[*outcome]) {
			breaks := func(set actSet) (breaks, ok bool) {
				o := p.l.runs[set.key()]
				if o == nil {
					if o, ok = ask(p.l.Request(set, 0)); !ok {
						return false, false
					}
					o.extra = nil
					p.l.keep(set, o)
					p.met(o)
					made = append(made, o)
				}
				return o.States[x].Broke, true
			}
			least := fewest.Find(len(out.delivered), func(numbers []int) (bool, bool) {
				return breaks(fewest.Pick(out.delivered, numbers))
			})
			set, minimal = fewest.Pick(out.delivered, least.Set), least.Minimal
		})
		ran := p.l.runs[set.key()]
		if !ran.States[x].Broke { // an earlier run with the same deliveries
			ran = out
		}
		found := p.s.find(p.l, x, set, ran)
		found.Cut = !minimal
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// each tries the pairs that did not meet in any row, alone.
func (p *pairing) each(ctx context.Context) error {
	var sets []*candidate
	p.eachPair(func(i, j int) {
		if slices.ContainsFunc(p.classes, func(c *class) bool { return c.need[p.pairIndex(i, j)] }) {
			sets = append(sets, &candidate{list: p.l, set: actSet{i, j}})
		}
	})
	if len(sets) == 0 {
		return nil
	}
	var unused Level // the pairs are counted at the end, all of them
	err := p.s.level(ctx, &unused, sets)
	forgetCalls(sets)
	for _, c := range sets {
		if c.out == nil {
			p.cut = true
			continue
		}
		p.met(c.out)
		if len(c.out.delivered) < 2 {
			p.settle(c)
		}
	}
	return err
}

// settle counts a pair of which one took away the other, or its call, as a smaller set.
func (p *pairing) settle(c *candidate) {
	at := p.pairIndex(c.set[0], c.set[1])
	p.equal[at] = true
	for _, class := range p.classes {
		if class.need[at] {
			class.need[at] = false
			class.left--
		}
	}
}

// count adds what became of each pair.
func (p *pairing) count(level *Level) {
	p.eachPair(func(i, j int) {
		at := p.pairIndex(i, j)
		level.Possible++
		tried := func(n int) bool { return p.l.runs[actSet{n}.key()] != nil }
		switch {
		case len(p.classes) == 0:
			level.Contains++
		case !tried(i) || !tried(j):
			level.Left++
		case !p.usable[i] || !p.usable[j]:
			level.Undelivered++
		case p.alone[at]:
			level.Alone++
		case p.equal[at]:
			level.Equal++
		case !slices.ContainsFunc(p.classes, func(c *class) bool { return c.eligible[i] && c.eligible[j] }):
			level.Contains++
		case slices.ContainsFunc(p.classes, func(c *class) bool { return c.need[at] }):
			level.Left++
		default:
			level.Together++
		}
	})
}

// covering are rows in which each pair of a class occurs, one fault of every call in each.
func (p *pairing) covering(c *class) (rows []actSet) {
	var factors [][]int
	for call := range p.l.calmly {
		var levels []int
		for _, n := range p.l.calls[call].acts {
			if c.eligible[n] {
				levels = append(levels, n)
			}
		}
		if len(levels) > 0 {
			factors = append(factors, levels)
		}
	}
	if len(factors) < 2 {
		return nil
	}
	counts := make([]int, len(factors))
	for f := range factors {
		counts[f] = len(factors[f])
	}
	for _, row := range cover.Rows(counts, p.s.Strength) {
		set := make(actSet, len(row))
		for f, level := range row {
			set[f] = factors[f][level]
		}
		slices.Sort(set)
		rows = append(rows, set)
	}
	return rows
}
