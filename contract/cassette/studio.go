package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/contract/cassette/internal/tape"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A studio has the answers, makes live calls and keeps theirs. Its goroutines and channels are made outside of every
// bubble.
type studio struct {
	settings *settings
	tape     []tape.Exchange
	used     []atomic.Bool // of the tape: played at least once
	fresh    chan *take
	quit     chan struct{}
	most     int // bytes of a body that is kept
	running  sync.WaitGroup
	base     func() http.RoundTripper

	mu sync.Mutex // guards what follows; there is nothing to guard in replay mode
	shelf
	secrets tape.Secrets
	losses  []loss
	own     *http.Transport // where Base is nil, once it is made
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

// An answer is what claim found: a response, or a take. first: the take was started for it. last is the number of the
// exchange that was played last, where all were.
type answer struct {
	response *tape.Response
	take     *take
	first    bool
	last     int
}

var errClosed = errors.New("cassette: a live call after Close")

// claim finds the n-th answer to a request, or starts the live call for it. In replay mode there may be none.
func (s *studio) claim(q *request, p *Player, n, order int) (a answer, err error) {
	if !s.settings.live() {
		e, last := s.find(q.slot, n, s.settings.Once)
		if last != nil {
			a.last = last.exchange
		}
		if e != nil {
			a = s.hold(e, count{})
		}
		return a, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settings.records() {
		t, err := s.start(q)
		if err != nil {
			return a, err
		}
		t.readers = 1
		return answer{take: t, first: true}, nil
	}
	e := s.strips[q.slot].numbered(n)
	if s.settings.Mode == Auto {
		e, _ = s.find(q.slot, n, s.settings.Once)
	}
	own := &entry{slot: q.slot, n: n, order: order, request: q.kept}
	switch {
	case e == nil:
		if own.take, err = s.start(q); err != nil {
			return a, err
		}
		s.note(q, own)
		a = s.hold(own, count{p, q.slot})
		a.first = true
		return a, nil
	case e.slot != q.slot: // it is noted here too, so that a replay does not depend on who asked first
		own.exchange, own.response, own.take, own.borrowed = e.exchange, e.response, e.take, true
		s.note(q, own)
		e = own
	}
	return s.hold(e, count{p, q.slot}), nil
}

// note puts the entry for a request into its strip. What the request carried must not be written: a borrowed answer is
// kept with the request of the borrower.
func (s *studio) note(q *request, e *entry) {
	s.secrets.Add(q.Request, q.sent)
	s.add(e)
	if e.take != nil {
		e.take.entries = append(e.take.entries, e)
	}
}

// hold is the answer of the entry for one more player, which counted it there.
func (s *studio) hold(e *entry, by count) answer {
	switch {
	case e.take == nil:
		// A store by all players would move the cache line each time.
		if i := e.exchange - 1; i >= 0 && !s.used[i].Load() {
			s.used[i].Store(true)
		}
		return answer{response: e.response}
	case e.take.kept:
		return answer{response: e.take.response}
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
		s.shelf.forget(e)
		for _, c := range e.counts {
			c.player.takeBack(c.slot)
		}
		if i == 0 {
			s.losses = append(s.losses, loss{e.slot, targetShown(e.request), why, unread})
		}
	}
}

// exchanges returns what the tape will have, and whether anything was recorded.
func (s *studio) exchanges() (all []tape.Exchange, recorded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	ran := make(map[string]bool) // the cells with recordings
	for _, st := range s.strips {
		order := 0
		for _, e := range st.entries {
			if e == nil || e.exchange > 0 && !e.borrowed || e.take != nil && !e.take.kept {
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
	for _, e := range s.tape {
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

// mostLosses is how many of the answers that were not kept an error names.
const mostLosses = 20

// lacking joins the answers that were not kept. A body that was not read to its end does not count if the tape has an
// answer to the same request.
func (s *studio) lacking() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	problems := fielderror.Package("cassette").ListUpTo(mostLosses)
	for _, l := range s.losses {
		kept := func(e *entry) bool { return e != nil && (e.exchange == 0 || e.borrowed) }
		if l.unread && slices.ContainsFunc(s.strips[l.slot].entries, kept) {
			continue
		}
		lacks := s.secrets.Hide(fmt.Appendf(nil, "the answer to %s%s is not on the tape: %s",
			l.target, ofCell(l.cell), l.why))
		problems.Add(errors.New("cassette: " + text.Printed(string(lacks))))
	}
	return problems.Err()
}
