package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/nearest"
)

// A studio makes live calls and keeps their answers. Its goroutines and channels are made outside of every bubble.
type studio struct {
	settings *settings
	library  *library // what was on the tape before
	fresh    chan *take
	quit     chan struct{}
	most     int // bytes of a body that is kept
	running  sync.WaitGroup
	base     func() http.RoundTripper

	mu      sync.Mutex
	strips  map[slot]*strip
	byKey   map[uint64][]slot // of strips, in the order of their making
	made    int               // strips
	secrets tape.Secrets
	losses  []loss
	own     *http.Transport // where Base is nil, once it is made
}

// A strip has what this run knows of the answers to one request at one place, by number.
type strip struct {
	entries map[int]*entry
	made    int
}

// An entry is one answer of a strip: a take, or an exchange of the tape that was borrowed from another place.
type entry struct {
	slot
	n, order int
	request  tape.Request
	take     *take
	borrowed bool
	response *tape.Response
	counts   []count // of those who wait for its take
}

// A count is where a player counted a request.
type count struct {
	player *Player
	slot   slot
}

// A loss is an answer that passed and was not kept.
type loss struct {
	slot
	target, why string
	unread      bool
}

// An answer is what claim found: an exchange, or a take. first: the take was started for it.
type answer struct {
	exchange *tape.Response
	take     *take
	first    bool
}

// live reports whether the strip has a live call of its own.
func (s *strip) live() bool {
	if s == nil {
		return false
	}
	for _, e := range s.entries {
		if e.take != nil && !e.borrowed {
			return true
		}
	}
	return false
}

// last is the entry with the highest number, or nil.
func (s *strip) last() (last *entry) {
	if s == nil {
		return nil
	}
	for _, e := range s.entries {
		if last == nil || e.n > last.n {
			last = e
		}
	}
	return last
}

var errClosed = errors.New("cassette: a live call after Close")

// claim finds the n-th answer to a request, or starts the live call for it.
func (s *studio) claim(q *request, p *Player, n, order int) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settings.records() {
		t, err := s.start(q)
		if err != nil {
			return answer{}, err
		}
		t.readers = 1
		return answer{take: t, first: true}, nil
	}
	by := count{p, q.slot}
	st := s.strips[q.slot]
	if st != nil && st.entries[n] != nil {
		return st.entries[n].hold(by), nil
	}
	if s.settings.Mode == Auto {
		if a, ok := s.known(q, by, n, order); ok {
			return a, nil
		}
	}
	t, err := s.start(q)
	if err != nil {
		return answer{}, err
	}
	e := &entry{slot: q.slot, n: n, order: order, request: q.kept, take: t}
	s.add(q, e)
	a := e.hold(by)
	a.first = true
	return a, nil
}

// known looks in the tape and in what this run has recorded. Where an answer is borrowed it is noted, so that a replay
// does not depend on who asked first.
func (s *studio) known(q *request, by count, n, order int) (answer, bool) {
	same, st, once := s.library.byKey[q.key], s.strips[q.slot], s.settings.Once
	own := same.own(q.cell, q.lane)
	switch {
	case n <= len(own):
		return s.played(own[n-1]), true
	case len(own) == 0 && !st.live():
		return s.borrow(q, by, n, order)
	case once:
		return answer{}, false
	case st.last() != nil:
		return st.last().hold(by), true
	}
	return s.played(own[len(own)-1]), true
}

func (s *studio) played(i int) answer { return answer{exchange: &s.library.play(i).Response} }

// borrow takes the answer of another lane of the cell, else of another cell: of the tape, else of this run.
func (s *studio) borrow(q *request, by count, n, order int) (answer, bool) {
	same := s.library.byKey[q.key]
	var list []int
	if same != nil && (same.byCell[q.cell] != nil || s.lender(q, true) == nil) {
		list = same.borrowed(q.cell, q.lane)
	}
	if len(list) > 0 {
		i, last := nth(list, n)
		if last && s.settings.Once {
			return answer{}, false
		}
		a := s.played(i)
		if !last {
			s.add(q, &entry{slot: q.slot, n: n, order: order, request: q.kept, borrowed: true, response: a.exchange})
		}
		return a, true
	}
	lender := cmp.Or(s.lender(q, true), s.lender(q, false))
	if lender == nil {
		return answer{}, false
	}
	from := lender.entries[n]
	if from == nil || from.take == nil {
		if s.settings.Once {
			return answer{}, false
		}
		return lender.last().hold(by), true
	}
	e := &entry{slot: q.slot, n: n, order: order, request: q.kept, take: from.take, borrowed: true}
	s.add(q, e)
	return e.hold(by), true
}

// lender is the strip of this run from which a place may borrow: of its cell, or of the first other cell, there of the
// same lane if it has one.
func (s *studio) lender(q *request, ofCell bool) (best *strip) {
	var from slot
	lane := func(s slot) string {
		if s.lane == q.lane {
			return "" // before all others
		}
		return "\x00" + s.lane
	}
	for _, o := range s.byKey[q.key] {
		if st := s.strips[o]; !st.live() || (o.cell == q.cell) != ofCell || o == q.slot {
			continue
		}
		order := cmp.Or(cmp.Compare(o.cell, from.cell), cmp.Compare(lane(o), lane(from)))
		if best == nil || order < 0 {
			best, from = s.strips[o], o
		}
	}
	return best
}

// add puts the entry for a request into its strip. What the request carried must not be written: a borrowed answer is
// kept with the request of the borrower.
func (s *studio) add(q *request, e *entry) {
	s.secrets.Add(q.Request, q.sent)
	st := s.strips[e.slot]
	if st == nil {
		st = &strip{entries: make(map[int]*entry), made: s.made}
		s.made++
		s.strips[e.slot] = st
		s.byKey[e.key] = append(s.byKey[e.key], e.slot)
	}
	st.entries[e.n] = e
	if e.take != nil {
		e.take.entries = append(e.take.entries, e)
	}
}

// hold is the answer of the entry for one more player, which counted it there.
func (e *entry) hold(by count) answer {
	switch {
	case e.take == nil:
		return answer{exchange: e.response}
	case e.take.kept:
		return answer{exchange: e.take.response}
	}
	e.counts = append(e.counts, by)
	e.take.readers++
	return answer{take: e.take}
}

// forget removes a take from its strips: it passed, unkept, for the reason why.
func (s *studio) forget(t *take, why string, unread bool) {
	if t.kept || t.lost {
		return
	}
	t.lost = true
	for i, e := range t.entries {
		delete(s.strips[e.slot].entries, e.n)
		for _, c := range e.counts {
			c.player.takeBack(c.slot)
		}
		if i == 0 {
			s.losses = append(s.losses, loss{e.slot, targetShown(e.request), why, unread})
		}
	}
}

// exchanges returns what the tape will have, and whether anything was recorded. before is what it had.
func (s *studio) exchanges(before []tape.Exchange) (all []tape.Exchange, recorded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	ran := make(map[string]bool) // the cells with recordings
	for _, st := range s.strips {
		order := 0
		for n := range st.highest() {
			e := st.entries[n+1]
			if e == nil || e.take != nil && !e.take.kept {
				continue
			}
			if e.take != nil && !e.borrowed {
				recorded, ran[e.cell] = true, true
			}
			order = max(order, e.order) // equal requests stay in the order of their numbers
			e.order = order
			entries = append(entries, e)
		}
	}
	if !recorded {
		return nil, false
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.order, b.order),
			cmp.Compare(s.strips[a.slot].made, s.strips[b.slot].made), cmp.Compare(a.n, b.n))
	})
	for _, e := range before {
		if s.settings.Mode != Record || !ran[e.Cell] {
			all = append(all, e)
		}
	}
	for _, e := range entries {
		response := e.response
		if e.take != nil {
			response = e.take.response
		}
		all = append(all, tape.Exchange{Cell: e.cell, Lane: e.lane, Request: e.request, Response: *response})
	}
	return all, true
}

func (s *strip) highest() int {
	if last := s.last(); last != nil {
		return last.n
	}
	return 0
}

// mostLosses is how many of the answers that were not kept an error names.
const mostLosses = 20

// lacking joins the answers that were not kept. A body that was not read to its end does not count if the tape has an
// answer to the same request.
func (s *studio) lacking() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	problems := fielderror.Package("cassette").ListUpTo(mostLosses)
	for _, l := range s.losses {
		if l.unread && s.strips[l.slot].last() != nil {
			continue
		}
		text := s.secrets.Hide(fmt.Appendf(nil, "the answer to %s%s is not on the tape: %s",
			l.target, ofCell(l.cell), l.why))
		problems.Add(errors.New("cassette: " + nearest.Printable(string(text))))
	}
	return problems.Err()
}
