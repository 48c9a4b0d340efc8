package search

import (
	"context"
	"slices"

	"github.com/shakedown-go/shakedown/internal/cover"
	"github.com/shakedown-go/shakedown/internal/fewest"
)

// A pairing follows what becomes of the pairs of faults on the calls of a list's calm run.
type pairing struct {
	s     *sweeper
	l     *promptList
	runs  int          // with many faults each
	alone []*runDigest // by the number of a fault: the run of it alone
	pairs []*pair      // in order
	by    map[[2]int]*pair
}

// A pair is two faults on two calls. Where an invariant breaks because of a known set, a run
// tells nothing of another set. So each invariant needs runs without the faults that break it
// alone.
type pair struct {
	candidate
	need   []bool // by invariant: they have not met for it yet
	wanted bool   // some invariant needed them
	equal  bool   // one takes away the call of the other
	alone  bool   // they met in a run of their own
}

func (p *pair) open() bool { return slices.Contains(p.need, true) }

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
	p := &pairing{s: s, l: l, by: map[[2]int]*pair{}}
	for n := 0; n < len(l.Parts) && l.Parts[n].call < l.calmly; n++ {
		p.alone = append(p.alone, l.runOf(partSet{n}))
	}
	for i := range p.alone {
		for j := i + 1; j < len(p.alone); j++ {
			if l.Parts[i].call == l.Parts[j].call {
				continue
			}
			q := &pair{candidate: candidate{list: l, set: partSet{i, j}}, need: make([]bool, len(l.Invariants))}
			q.equal = p.usable(i) && p.usable(j) && !(p.leaves(i, j) && p.leaves(j, i))
			for x := range l.Invariants {
				q.need[x] = !q.equal && p.eligible(x, i) && p.eligible(x, j)
			}
			q.wanted = q.equal || q.open()
			p.pairs, p.by[[2]int{i, j}] = append(p.pairs, q), q
		}
	}
	return p
}

// usable reports whether a fault was tried alone, and was delivered.
func (p *pairing) usable(n int) bool { return p.alone[n] != nil && len(p.alone[n].delivered) == 1 }

// eligible reports whether a fault does not break an invariant by itself.
func (p *pairing) eligible(x, n int) bool { return p.usable(n) && !p.l.explains(x, partSet{n}) }

// leaves reports whether the call of a fault is made under another one.
func (p *pairing) leaves(n, call int) bool { return p.alone[n].made[p.l.Parts[call].call] }

// try makes rows of faults until each pair has met, or makes a run of its own for it.
func (p *pairing) try(ctx context.Context) error {
	for x := range p.l.Invariants {
		if !slices.ContainsFunc(p.pairs, func(q *pair) bool { return q.need[x] }) || p.s.Runs.Cut != "" {
			continue
		}
		if err := p.rows(ctx, p.covering(x)); err != nil {
			return err
		}
	}
	if p.s.o.Strength < 2 || p.s.Runs.Cut != "" {
		return nil
	}
	return p.each(ctx)
}

// rows makes runs of many faults each, and looks into those that break more than is known.
func (p *pairing) rows(ctx context.Context, rows []partSet) error {
	outs := make([]*runDigest, len(rows))
	tasks := make([]task, len(rows))
	made := p.s.Runs.Spent.Runs
	for i, set := range rows {
		tasks[i] = func(ask askFunc) { outs[i] = ask(p.l.request(set, nil)) }
	}
	err := p.s.Runs.Run(ctx, tasks...)
	p.runs += p.s.Runs.Spent.Runs - made
	for _, out := range outs {
		p.met(out)
	}
	for len(outs) > 0 && err == nil && p.s.Runs.Cut == "" {
		var more []*runDigest
		more, err = p.explain(ctx, outs[0])
		outs = append(more, outs[1:]...)
	}
	return err
}

// met keeps a run, and notes the pairs that were delivered together in it.
func (p *pairing) met(out *runDigest) {
	if out == nil {
		return
	}
	p.l.keep(out)
	both := len(out.delivered) == 2
	for k, i := range out.delivered {
		for _, j := range out.delivered[k+1:] {
			q := p.by[[2]int{i, j}]
			if q == nil {
				continue
			}
			q.alone = q.alone || both
			for x := range q.need {
				q.need[x] = q.need[x] && !both && out.States[x].Broke
			}
		}
	}
}

// explain looks for the fewest faults of a run that break what no known set in it breaks.
// It returns the runs that it made, which may break more.
func (p *pairing) explain(ctx context.Context, out *runDigest) (made []*runDigest, err error) {
	for _, x := range p.l.open(out.delivered) {
		if !out.States[x].Broke {
			continue
		}
		var least fewest.Result
		err = p.s.Runs.Run(ctx, func(ask askFunc) {
			least = fewest.Find(len(out.delivered), func(numbers []int) (breaks, ok bool) {
				set := fewest.Pick(out.delivered, numbers)
				before := p.l.runOf(set)
				run := ask(p.l.request(set, nil))
				if run == nil {
					return false, false
				}
				if run != before {
					p.met(run)
					made = append(made, run)
				}
				return run.States[x].Broke, true
			})
		})
		set := fewest.Pick(out.delivered, least.Set)
		run := p.l.runOf(set)
		if !run.States[x].Broke { // an earlier run with the same deliveries
			run = out
		}
		p.s.find(p.l, x, set, run).Cut = !least.Minimal
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// each tries the pairs that did not meet in any row, alone. One of which one took away the other,
// or its call, is equal to a smaller set.
func (p *pairing) each(ctx context.Context) error {
	var sets []*candidate
	for _, q := range p.pairs {
		if q.open() {
			sets = append(sets, &q.candidate)
		}
	}
	err := p.s.try(ctx, sets)
	for _, q := range p.pairs {
		if p.met(q.out); q.out != nil && len(q.out.delivered) < 2 {
			q.equal, q.need = true, nil
		}
	}
	return err
}

// count adds what became of each pair.
func (p *pairing) count(level *Level) {
	level.Runs += p.runs
	level.Possible += len(p.pairs)
	closed := len(p.l.open(nil)) == 0 // all break in the calm run
	for _, q := range p.pairs {
		i, j := q.set[0], q.set[1]
		switch {
		case closed:
			level.Contains++
		case p.alone[i] == nil || p.alone[j] == nil:
			level.Left++
		case !p.usable(i) || !p.usable(j):
			level.Undelivered++
		case q.alone:
			level.Alone++
		case q.equal:
			level.Equal++
		case !q.wanted:
			level.Contains++
		case q.open():
			level.Left++
		default:
			level.Together++
		}
	}
}

// covering are rows in which each pair that an invariant needs occurs, one fault of every call in
// each.
func (p *pairing) covering(x int) (rows []partSet) {
	var factors [][]int
	var counts []int
	for _, call := range p.l.calls[:p.l.calmly] {
		levels := slices.DeleteFunc(slices.Clone(call.parts), func(n int) bool { return !p.eligible(x, n) })
		if len(levels) > 0 {
			factors, counts = append(factors, levels), append(counts, len(levels))
		}
	}
	if len(factors) < 2 {
		return nil
	}
	for _, row := range cover.Rows(counts, p.s.o.Strength) {
		set := make(partSet, len(row))
		for f, level := range row {
			set[f] = factors[f][level]
		}
		slices.Sort(set)
		rows = append(rows, set)
	}
	return rows
}
