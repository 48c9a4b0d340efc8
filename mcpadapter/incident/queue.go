package incident

import "slices"

// queue holds the events that wait for an agent, the oldest first. Not safe for
// concurrent use.
type queue struct {
	events []Event
	first  int // what is before it is gone
}

func (q *queue) len() int { return len(q.events) - q.first }

func (q *queue) push(e Event) { q.events = append(q.events, e) }

// oldest is the event that goes next; there must be one.
func (q *queue) oldest() Event { return q.events[q.first] }

// all are the events that wait, to be read.
func (q *queue) all() []Event { return q.events[q.first:] }

// remove takes an event out, the oldest at a constant cost.
func (q *queue) remove(id string) (Event, bool) {
	i := slices.IndexFunc(q.all(), func(e Event) bool { return e.id == id })
	if i < 0 {
		return Event{}, false
	}
	i += q.first
	e := q.events[i]
	if i > q.first {
		q.events = slices.Delete(q.events, i, i+1)
		return e, true
	}
	q.events[i] = Event{} // free its memory
	q.first++
	if q.first > 64 && q.first > len(q.events)/2 {
		q.events, q.first = append([]Event(nil), q.all()...), 0
	}
	return e, true
}
