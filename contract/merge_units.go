package contract

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// write streams the units in the order of the matrix into the fold and to w.
func (m *merger) write(w io.Writer) (*Report, error) {
	m.encoder = &unitEncoder{fold: m.fold}
	m.calm, m.lacking = map[int]calmOfPart{}, newLacking(m.head)
	out := bufio.NewWriterSize(w, 1<<16)
	if err := writeLine(out, m.head); err != nil {
		return nil, err
	}
	for key, ok := m.first(); ok; key, ok = m.first() {
		u, line, err := m.choose(key)
		if err != nil {
			return nil, err
		}
		if u == nil { // it is described in the list
			continue
		}
		if _, err := out.Write(line); err != nil {
			return nil, fmt.Errorf("contract: run file: %w", err)
		}
		m.meet(u)
		if _, err := m.fold.addUnit(u); err != nil {
			return nil, err
		}
	}
	if err := m.wrong.Err(); err != nil {
		return nil, err
	}
	r, err := m.finish()
	if err == nil {
		err = writeEnd(out, r)
	}
	if err == nil {
		err = out.Flush()
	}
	return r, err
}

// first is the first unit that was not merged.
func (m *merger) first() (key unitKey, ok bool) {
	for _, p := range m.parts {
		if p.next < len(p.units) && (!ok || p.units[p.next].compare(key) < 0) {
			key, ok = p.units[p.next].unitKey, true
		}
	}
	return key, ok
}

// choose reads a unit of the parts that have it, and returns that in which most cells ran, of these that in which
// most broke, else the first: what broke once is not lost because it was run again. The line is that of the result. A
// nil unit is one that was refused.
func (m *merger) choose(key unitKey) (chosen *unit, line []byte, err error) {
	var from *part
	at := 0
	for _, p := range m.parts {
		if p.next == len(p.units) || p.units[p.next].unitKey != key {
			continue
		}
		own := p.units[p.next].line
		u, raw, next, err := p.unit(p.next)
		if p.next = next; err != nil {
			m.wrong.Add(p.named(err))
			continue
		}
		m.meetCalm(p, own, u)
		if chosen != nil {
			m.compare(from, at, chosen, p, own, u)
		}
		if chosen == nil || u.ran() > chosen.ran() || u.ran() == chosen.ran() && u.broken() > chosen.broken() {
			chosen, line, from, at = u, raw, p, own
		}
	}
	if chosen != nil && line == nil {
		line, err = m.encoder.line(chosen)
	}
	return chosen, line, err
}

// ran reports whether a cell came out: no filter left it out, no cancellation, and nobody gave it up.
func (r *CellReport) ran() bool {
	return r != nil && (r.State != NotRun || r.DoesNotApply) && (r.notes == nil || !r.notes.Cancelled && !r.notes.Lost)
}

// ran counts the cells that ran.
func (u *unit) ran() (n int) {
	for _, c := range u.cells {
		n += asInt(c.ran())
	}
	return n
}

// broken counts the cells that broke.
func (u *unit) broken() (n int) {
	for _, c := range u.cells {
		n += asInt(c != nil && c.Violated)
	}
	return n
}

// differences are the units that several parts have, and not alike.
type differences struct {
	units int
	first string
	calm  string // of whose calm runs differ; "": those of none
}

// compare compares a unit of two parts.
func (m *merger) compare(first *part, at int, a *unit, p *part, line int, b *unit) {
	k := a.differsFrom(b)
	switch {
	case k < 0:
		return
	case !m.repeats:
		m.differ.units++
		m.differ.first = cmp.Or(m.differ.first, m.fold.nameOf(a.unitKey))
		return
	}
	is, was := b.cells[k].State.String(), a.cells[k].State.String()
	if is == was {
		is, was = is+", by other calls or for another reason", was+" as there"
	}
	m.wrong.Add(p.wrong(line, "cell "+b.cells[k].Cell.String(), fielderror.Found(is),
		fmt.Sprintf("%s, as in %s:%d: the agent was seen to repeat itself", was, first.name, at)))
}

// differsFrom is the first cell that ran in both units and came out differently; -1: none.
func (u *unit) differsFrom(other *unit) int {
	for k, c := range u.cells {
		if o := other.cells[k]; c.ran() && o.ran() && !bytes.Equal(c.outcome(), o.outcome()) {
			return k
		}
	}
	return -1
}

// outcome is what is equal in two runs of a cell that came out alike: no time, no cost of the run or of a
// judge, and of evidence the hash.
func (r *CellReport) outcome() []byte {
	own, notes := bareCell(*r), cellNotes{}
	own.Evidence, own.Calm, own.Elapsed, own.Rerun = nil, nil, 0, ""
	if r.notes != nil {
		notes = *r.notes
		notes.Calm, notes.Judged = 0, nil
		if notes.Run != nil {
			run := *notes.Run
			run.Cost, notes.Run = 0, &run
		}
		for _, n := range r.notes.Judged {
			notes.Judged = append(notes.Judged, judging.Note{Judge: n.Judge, Version: n.Version, Decide: n.Decide,
				Outcome: n.Outcome, Question: n.Question})
		}
	}
	return encoded([]any{own, notes})
}

// A calmOfPart is the calm run that a cell was judged with.
type calmOfPart struct {
	copy uint64
	part *part
	line int
}

// meetCalm compares the calm runs of the prompts of a unit with those that other parts made of them.
func (m *merger) meetCalm(p *part, line int, u *unit) {
	for k, c := range u.cells {
		if c == nil || c.notes == nil || c.notes.Calm == 0 {
			continue
		}
		question := m.fold.scenarios[u.scenario].fields[k].question
		p.calm[question] = true
		was, known := m.calm[question]
		switch {
		case !known:
			m.calm[question] = calmOfPart{c.notes.Calm, p, line}
		case was.copy == c.notes.Calm:
		case m.repeats:
			m.wrong.Add(p.wrong(line, "calm run of "+c.Cell.String(), fielderror.Found("another one"),
				fmt.Sprintf("that of %s:%d: the agent was seen to repeat itself", was.part.name, was.line)))
			return
		case m.differ.calm == "":
			m.differ.calm = c.Cell.String()
		}
	}
}

// lacking are the units of the matrix that no part has whole.
type lacking struct {
	next  unitKey // the first one that was not looked for
	place int     // of the scenario of next among those that ask something, of a sequential run
	count int
	names []string // the first ones
	// last and absent have, for each invariant, the last trial of a scenario of a sequential run
	// that has a cell, and the first one without.
	last, absent []int
}

const mostNamed = 10

func newLacking(h *runHead) lacking {
	n := len(h.Invariants)
	return lacking{next: unitKey{0, 1}, last: make([]int, n), absent: slices.Repeat([]int{1}, n)}
}

func (l *lacking) add(scenario string, from, to int) {
	l.count += max(0, to-from+1)
	for n := from; n <= to && len(l.names) < mostNamed; n++ {
		l.names = append(l.names, fmt.Sprintf("%s/%d", scenario, n))
	}
}

// until looks for the units before one.
func (l *lacking) until(f *fold, key unitKey) {
	for ; l.next.scenario < key.scenario; l.next = (unitKey{l.next.scenario + 1, 1}) {
		if s := f.scenarios[l.next.scenario]; s.asked > 0 {
			l.add(s.Name, l.next.trial, f.head.Trials)
		}
	}
	if l.next.trial < key.trial {
		l.add(f.scenarios[key.scenario].Name, l.next.trial, key.trial-1)
		l.next = key
	}
}

// meet takes the next unit, before it is folded.
func (m *merger) meet(u *unit) {
	l, f := &m.lacking, m.fold
	if !f.head.Sequential {
		l.until(f, u.unitKey)
		if l.next.trial++; u.ran() < f.scenarios[u.scenario].asked {
			l.add(f.scenarios[u.scenario].Name, u.trial, u.trial)
		}
		return
	}
	m.endScenarios(u.scenario)
	for k, c := range u.cells {
		if c != nil {
			l.last[k] = u.trial
		}
		if c.ran() && l.absent[k] == u.trial {
			l.absent[k]++
		}
	}
}

// endScenarios looks for what is lacking of the scenarios before one of a sequential run. A field has
// its first trials, until it is decided. Where it is not, a budget may have ended the run: then a part
// says that it is whole.
func (m *merger) endScenarios(before int) {
	l := &m.lacking
	for ; l.next.scenario < before; l.next.scenario++ {
		s, named := m.fold.scenarios[l.next.scenario], map[int]bool{}
		ended := slices.ContainsFunc(m.parts, func(p *part) bool { return p.ended(l.place) })
		l.place += asInt(s.asked > 0)
		for k, t := range s.fields {
			if t == nil {
				continue
			}
			open := !ended && t.decision() == stats.Open && t.left() > 0
			if at := l.absent[k]; (open || at <= l.last[k]) && !named[at] {
				named[at] = true
				l.add(s.Name, at, at)
			}
		}
		clear(l.last)
		for k := range l.absent {
			l.absent[k] = 1
		}
	}
}

// ended reports whether the run of a part made all that it needed of a scenario of a sequential run.
func (p *part) ended(place int) bool {
	if p.end == nil || p.end.Cancelled || p.end.Filtered {
		return false
	}
	return p.whole || p.head.Shard != "" && p.head.shard().has(place)
}
