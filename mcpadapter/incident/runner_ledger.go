package incident

import (
	"cmp"
	"encoding/json"
	"errors"
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
	opRunning     op = "running"     // the agent of the attempt runs
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
	lost     int       // attempts before it that the runner did not outlive while the agent ran
	ran      bool      // the agent of the attempt is known to have run
	finished *entry    // how the agent ended; nil: not known to have ended
	annulled bool      // the attempt was interrupted: how it ended does not count
}

// errNothingBefore is the problem of an entry that builds on one that is not there.
var errNothingBefore = errors.New("the entry before it is missing")

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
		l.seen.seen[e.Key] = admission{until: e.At}
	case opQueued:
		if e.Event == nil {
			return fmt.Errorf("incident: journal: %s without an event", e.Op)
		}
		l.seen.seen[e.Event.key()] = admission{until: e.At, active: true}
		l.waiting = append(l.waiting, e.Event)
	case opDropped:
		if event := l.waiting.remove(e.EventID); event != nil {
			delete(l.seen.seen, event.key()) // the next of its kind is not a duplicate
		}
	case opBegun:
		return l.begin(e)
	case opRunning, opFinished, opInterrupted, opEnded:
		return l.proceed(e)
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
		event := cmp.Or(e.Event, l.waiting.remove(e.EventID))
		if event == nil {
			return fmt.Errorf("incident: journal: %s %s: %w", e.Op, e.Incident, errNothingBefore)
		}
		c = &openCase{id: e.Incident, event: *event}
		l.cases[e.Incident] = c
		l.seen.work(event.key(), true)
	}
	c.created, c.started, c.attempt, c.lost, c.finished = e.Created, e.At, e.Attempt, e.Lost, nil
	c.ran, c.annulled = false, false
	return nil
}

// proceed applies what becomes of an attempt.
func (l *ledger) proceed(e entry) error {
	c := l.cases[e.Incident]
	if e.Op == opEnded {
		if c != nil { // a snapshot has no case, only the letters about its end
			l.seen.work(c.event.key(), false)
			delete(l.cases, e.Incident)
		}
		if e.Store {
			l.copies.put(e.Incident, e.At, e.in)
		}
		if e.Notify {
			l.letters.put(e.Incident, e.At, e.in)
		}
		return nil
	}
	if c == nil {
		return fmt.Errorf("incident: journal: %s %s: %w", e.Op, e.Incident, errNothingBefore)
	}
	switch e.Op {
	case opRunning:
		c.ran = !c.annulled
	case opFinished:
		c.finished = &e
	case opInterrupted:
		c.lost, c.ran, c.finished, c.annulled = 0, false, nil, true
	}
	return nil
}

// entries returns the entries of a journal that gives this ledger.
func (l *ledger) entries() (all []entry) {
	for _, key := range slices.Sorted(maps.Keys(l.seen.seen)) {
		all = append(all, entry{Op: opSeen, Key: key, At: l.seen.seen[key].until})
	}
	for _, e := range l.waiting {
		all = append(all, entry{Op: opQueued, Event: e, At: l.seen.seen[e.key()].until})
	}
	for _, c := range l.unfinished() {
		all = append(all, entry{Op: opBegun, Incident: c.id, Event: &c.event, Created: c.created, At: c.started,
			Attempt: c.attempt, Lost: c.lost})
		if c.ran {
			all = append(all, entry{Op: opRunning, Incident: c.id})
		}
		if c.annulled {
			all = append(all, entry{Op: opInterrupted, Incident: c.id})
		}
		if c.finished != nil {
			all = append(all, *c.finished)
		}
	}
	for _, letter := range l.copies.letters {
		all = append(all, entry{Op: opEnded, Incident: letter.id, At: letter.added, Store: true})
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

// replay builds a ledger from the records of a journal. If records were lost, those
// that build on them are skipped; else they are an error.
func replay(records [][]byte, lost bool, window time.Duration) (l *ledger, skipped int, err error) {
	l = newLedger(window)
	for i, record := range records {
		var e entry
		err := json.Unmarshal(record, &e)
		if err == nil {
			err = l.apply(e)
		}
		switch {
		case lost && errors.Is(err, errNothingBefore):
			skipped++
		case err != nil:
			return nil, 0, fmt.Errorf("record %d of the journal: %w", i+1, err)
		}
	}
	return l, skipped, nil
}

// queue holds the events that wait for an agent, the oldest first. Not safe for
// concurrent use.
type queue []*event

func (q *queue) remove(id string) *event {
	i := slices.IndexFunc(*q, func(e *event) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	e := (*q)[i]
	if i == 0 { // at a constant cost, however many wait
		(*q)[0] = nil
		*q = (*q)[1:]
		return e
	}
	*q = slices.Delete(*q, i, i+1)
	return e
}

// dedupe remembers which keys were admitted lately. A key is admitted again
// when its window has passed and no agent works on it. Not safe for concurrent
// use.
type dedupe struct {
	window time.Duration
	seen   map[string]admission
}

type admission struct {
	until  time.Time
	active bool // queued, or an agent runs
}

func newDedupe(window time.Duration) *dedupe {
	return &dedupe{window: window, seen: make(map[string]admission)}
}

// admit reports whether an event is the first of its key.
func (d *dedupe) admit(key string, now time.Time) bool {
	if e, ok := d.seen[key]; ok && d.holds(e, now) {
		return false
	}
	d.seen[key] = admission{until: now.Add(d.window), active: true}
	return true
}

// holds reports whether equal events are duplicates. The time of an admission may be
// that of an earlier process, by a clock that was ahead: where it was by more than
// a window, the admission is ignored.
func (d *dedupe) holds(s admission, now time.Time) bool {
	return s.active || now.Before(s.until) && s.until.Sub(now) <= 2*d.window
}

// work records whether an agent works on the key.
func (d *dedupe) work(key string, active bool) {
	if e, ok := d.seen[key]; ok || active {
		e.active = active
		d.seen[key] = e
	}
}

// expire removes what has passed.
func (d *dedupe) expire(now time.Time) {
	maps.DeleteFunc(d.seen, func(_ string, s admission) bool { return !d.holds(s, now) })
}
