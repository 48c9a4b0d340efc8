package incident

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The journal of a runner has one entry for each step. To apply the entries in
// their order, from an empty ledger, gives the ledger that they were written from.
type op string

const (
	opSeen        op = "seen"        // like events are duplicates until At
	opQueued      op = "queued"      // an event waits; like events are duplicates until At
	opDropped     op = "dropped"     // an event had to make room
	opBegun       op = "begun"       // an attempt at an incident begins
	opFinished    op = "finished"    // the agent has ended
	opInterrupted op = "interrupted" // the attempt does not count: the runner was stopped
	opEnded       op = "ended"       // the record in the workspace says how
	opStored      op = "stored"      // the other store has it
	opSending     op = "sending"     // the notifier is about to be called
	opUnsent      op = "unsent"      // it did not deliver, and is asked again
	opSettled     op = "settled"     // it is not asked again
)

type entry struct {
	Op         op        `json:"op"`
	At         time.Time `json:"at,omitzero"`
	Key        string    `json:"key,omitempty"`
	Event      *event    `json:"event,omitempty"`
	EventID    string    `json:"eventId,omitempty"`
	Incident   string    `json:"incident,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	Attempt    int       `json:"attempt,omitempty"`
	Lost       int       `json:"lost,omitempty"`
	ExitCode   int       `json:"exitCode,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	AskedToEnd bool      `json:"told,omitempty"`
	Store      bool      `json:"store,omitempty"`
	Notify     bool      `json:"notify,omitempty"`

	in *Incident // of an end: the record, which the workspace has too
}

// openCase is an incident that has begun and not ended.
type openCase struct {
	id       string
	event    event
	created  time.Time
	started  time.Time // of the attempt
	attempt  int       // the how-manieth it is
	lost     int       // attempts that the runner did not outlive, this one among them
	finished *entry    // how the agent ended; nil: not known to have ended
	annulled bool      // the attempt was interrupted: how it ended does not count
}

// ledger is the state that a runner keeps across restarts. It is not safe for
// concurrent use.
type ledger struct {
	seen    *dedupe
	waiting queue
	cases   map[string]*openCase
	copies  outbox // records that the other store lacks
	letters outbox // incidents that were not announced yet
}

func newLedger(window time.Duration) *ledger {
	return &ledger{seen: newDedupe(window), cases: make(map[string]*openCase)}
}

// apply applies one entry to the ledger. The error reports an entry that no
// ledger could have written.
func (l *ledger) apply(e entry) error {
	switch e.Op {
	case opSeen:
		l.seen.restore(e.Key, e.At, false)
	case opQueued:
		if e.Event == nil {
			return fmt.Errorf("incident: journal: %s without an event", e.Op)
		}
		event := *e.Event
		l.seen.restore(event.key(), e.At, true)
		l.waiting.push(event)
	case opDropped:
		if event, ok := l.waiting.remove(e.EventID); ok {
			l.seen.forget(event.key())
		}
	case opBegun:
		return l.begin(e)
	case opFinished, opInterrupted, opEnded:
		return l.end(e)
	case opStored:
		l.copies.remove(e.Incident)
	case opSending, opUnsent:
		if letter := l.letters.find(e.Incident); letter != nil {
			letter.sending = e.Op == opSending
		}
	case opSettled:
		l.letters.remove(e.Incident)
	default:
		return fmt.Errorf("incident: journal: %q is no step that this version knows", e.Op)
	}
	return nil
}

func (l *ledger) begin(e entry) error {
	c := l.cases[e.Incident]
	if c == nil {
		event, ok := l.waiting.remove(e.EventID)
		if e.Event != nil {
			event, ok = *e.Event, true
		}
		if !ok {
			return fmt.Errorf("incident: journal: %s %s has no event", e.Op, e.Incident)
		}
		c = &openCase{id: e.Incident, event: event}
		l.cases[e.Incident] = c
		l.seen.begun(event.key())
	}
	c.created, c.started, c.attempt, c.lost, c.finished = e.Created, e.At, e.Attempt, e.Lost, nil
	c.annulled = false
	return nil
}

func (l *ledger) end(e entry) error {
	c := l.cases[e.Incident]
	if e.Op == opEnded {
		if c != nil { // a snapshot has no case, only the letters about its end
			l.seen.done(c.event.key())
			delete(l.cases, e.Incident)
		}
		if e.Store {
			l.copies.put(e.Incident, e.At, e.in).final = true
		}
		if e.Notify {
			l.letters.put(e.Incident, e.At, e.in).final = true
		}
		return nil
	}
	if c == nil {
		return fmt.Errorf("incident: journal: %s %s was not begun", e.Op, e.Incident)
	}
	if e.Op == opFinished {
		c.finished = &e
		return nil
	}
	c.lost, c.finished, c.annulled = 0, nil, true
	return nil
}

// entries returns the entries of a journal that gives this ledger.
func (l *ledger) entries() (all []entry) {
	for _, key := range slices.Sorted(maps.Keys(l.seen.seen)) {
		all = append(all, entry{Op: opSeen, Key: key, At: l.seen.seen[key].until})
	}
	for _, e := range l.waiting.all() {
		all = append(all, entry{Op: opQueued, Event: &e, At: l.seen.seen[e.key()].until})
	}
	for _, c := range l.unfinished() {
		all = append(all, entry{Op: opBegun, Incident: c.id, Event: &c.event, Created: c.created, At: c.started,
			Attempt: c.attempt, Lost: c.lost})
		if c.annulled {
			all = append(all, entry{Op: opInterrupted, Incident: c.id})
		}
		if c.finished != nil {
			all = append(all, *c.finished)
		}
	}
	for _, letter := range l.copies.letters {
		if letter.final {
			all = append(all, entry{Op: opEnded, Incident: letter.id, At: letter.added, Store: true})
		}
	}
	for _, letter := range l.letters.letters {
		all = append(all, entry{Op: opEnded, Incident: letter.id, At: letter.added, Notify: true})
		if letter.sending {
			all = append(all, entry{Op: opSending, Incident: letter.id})
		}
	}
	return all
}

// unfinished are the open cases, the oldest first.
func (l *ledger) unfinished() []*openCase {
	return slices.SortedFunc(maps.Values(l.cases), func(a, b *openCase) int {
		if n := a.created.Compare(b.created); n != 0 {
			return n
		}
		return cmp.Compare(a.id, b.id)
	})
}

func (e entry) record() ([]byte, error) { return json.Marshal(e) }

// replay builds a ledger from the records of a journal.
func replay(records [][]byte, window time.Duration) (*ledger, error) {
	l := newLedger(window)
	for i, record := range records {
		var e entry
		err := json.Unmarshal(record, &e)
		if err == nil {
			err = l.apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d of the journal: %w", i+1, err)
		}
	}
	return l, nil
}

// queue holds the events that wait for an agent, the oldest first. Not safe for
// concurrent use.
type queue struct {
	events []event
	first  int // what is before it is gone
}

func (q *queue) len() int { return len(q.events) - q.first }

func (q *queue) push(e event) { q.events = append(q.events, e) }

// oldest is the event that goes next; there must be one.
func (q *queue) oldest() event { return q.events[q.first] }

// all are the events that wait, to be read.
func (q *queue) all() []event { return q.events[q.first:] }

// remove takes an event out, the oldest at a constant cost.
func (q *queue) remove(id string) (event, bool) {
	i := slices.IndexFunc(q.all(), func(e event) bool { return e.ID == id })
	if i < 0 {
		return event{}, false
	}
	i += q.first
	e := q.events[i]
	if i > q.first {
		q.events = slices.Delete(q.events, i, i+1)
		return e, true
	}
	q.events[i] = event{} // free its memory
	q.first++
	if q.first > 64 && q.first > len(q.events)/2 {
		q.events, q.first = append([]event(nil), q.all()...), 0
	}
	return e, true
}

// dedupe remembers which keys were admitted lately. A key is admitted again
// when its window has passed and no agent works on it. Not safe for concurrent
// use.
type dedupe struct {
	window time.Duration
	seen   map[string]admission
	sweep  int // the size at which expired entries are next looked for
}

type admission struct {
	until  time.Time
	active bool // queued, or an agent runs
}

// leastSweep keeps the sweeps of small maps rare.
const leastSweep = 1024

func newDedupe(window time.Duration) *dedupe {
	return &dedupe{window: window, seen: make(map[string]admission), sweep: leastSweep}
}

// admit reports whether an event is the first of its key.
func (d *dedupe) admit(key string, now time.Time) bool {
	if e, ok := d.seen[key]; ok && d.holds(e, now) {
		return false
	}
	d.seen[key] = admission{until: now.Add(d.window), active: true}
	if len(d.seen) >= d.sweep {
		d.expire(now)
	}
	return true
}

// holds reports whether equal events are duplicates. The time of an admission may be
// that of an earlier process, by a clock that was ahead: where it was by more than
// a window, the admission is ignored.
func (d *dedupe) holds(s admission, now time.Time) bool {
	return s.active || now.Before(s.until) && s.until.Sub(now) <= 2*d.window
}

// restore brings back what an earlier runner remembered.
func (d *dedupe) restore(key string, until time.Time, active bool) {
	d.seen[key] = admission{until, active}
}

// begun records that an agent works on the key.
func (d *dedupe) begun(key string) {
	e := d.seen[key]
	e.active = true
	d.seen[key] = e
}

// done records that no agent works on the key.
func (d *dedupe) done(key string) {
	if e, ok := d.seen[key]; ok {
		e.active = false
		d.seen[key] = e
	}
}

// forget takes an admission back: its event was dropped, so the next of its
// kind is not a duplicate.
func (d *dedupe) forget(key string) { delete(d.seen, key) }

// expire removes what has passed. It runs again when the map has doubled, so
// that the cost per event is constant.
func (d *dedupe) expire(now time.Time) {
	for key, e := range d.seen {
		if !d.holds(e, now) {
			delete(d.seen, key)
		}
	}
	d.sweep = max(leastSweep, 2*len(d.seen))
}
