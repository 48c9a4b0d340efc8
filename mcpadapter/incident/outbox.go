package incident

import (
	"slices"
	"time"
)

// letter is an incident to be delivered to a receiver.
type letter struct {
	id      string
	added   time.Time
	in      *Incident // nil: as the workspace has it
	final   bool      // the incident has ended
	sending bool      // the receiver was called, and has not answered
	changed bool      // the incident changed since then
	tries   int
	due     time.Time // not before; zero: at once
}

// outbox holds letters, the oldest first. Not safe for concurrent use.
type outbox struct{ letters []*letter }

// maxOutbox bounds the letters that wait for a receiver that is down.
const maxOutbox = 1000

// A receiver that does not accept a letter is called again after 1 s, 2 s, 4 s
// and so on, for a day.
const (
	leastLetterPause = time.Second
	mostLetterPause  = 5 * time.Minute
	letterLife       = 24 * time.Hour
)

func (b *outbox) find(id string) *letter {
	if i := slices.IndexFunc(b.letters, func(l *letter) bool { return l.id == id }); i >= 0 {
		return b.letters[i]
	}
	return nil
}

// put adds a letter, or updates the one that waits and makes it due at once.
func (b *outbox) put(id string, now time.Time, in *Incident) *letter {
	l := b.find(id)
	if l == nil {
		l = &letter{id: id, added: now}
		b.letters = append(b.letters, l)
	}
	l.in, l.changed, l.due, l.tries = in, l.sending, time.Time{}, 0
	return l
}

func (b *outbox) remove(id string) {
	b.letters = slices.DeleteFunc(b.letters, func(l *letter) bool { return l.id == id })
}

// next returns the letter that is due first, and how long until then; nil if
// the outbox is empty.
func (b *outbox) next(now time.Time) (l *letter, wait time.Duration) {
	for _, other := range b.letters {
		if !other.due.After(now) {
			return other, 0
		}
		if l == nil || other.due.Before(l.due) {
			l, wait = other, other.due.Sub(now)
		}
	}
	return l, wait
}

// again postpones a letter.
func (l *letter) again(now time.Time) {
	pause := mostLetterPause
	if l.tries < 9 { // beyond, the pause is at its most anyway
		pause = min(pause, leastLetterPause<<l.tries)
	}
	l.tries++
	l.due = now.Add(pause)
}

// excess returns the oldest letter that was never tried, if there are too many.
func (b *outbox) excess() *letter {
	if len(b.letters) <= maxOutbox {
		return nil
	}
	if i := slices.IndexFunc(b.letters, func(l *letter) bool { return !l.sending }); i >= 0 {
		return b.letters[i]
	}
	return nil
}
