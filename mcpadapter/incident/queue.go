package incident

// queue holds the events that wait for an agent, the oldest first. A full one
// drops its oldest: what happens now matters more than what happened. Not safe
// for concurrent use.
type queue struct {
	ring  []Event
	first int
	n     int
}

func newQueue(size int) *queue { return &queue{ring: make([]Event, size)} }

// push appends an event and returns the one that had to go for it.
func (q *queue) push(e Event) (dropped Event, full bool) {
	if full = q.n == len(q.ring); full {
		dropped, _ = q.pop()
	}
	q.ring[(q.first+q.n)%len(q.ring)] = e
	q.n++
	return dropped, full
}

func (q *queue) pop() (Event, bool) {
	if q.n == 0 {
		return Event{}, false
	}
	e := q.ring[q.first]
	q.ring[q.first] = Event{} // not held in memory by a slot that is free
	q.first = (q.first + 1) % len(q.ring)
	q.n--
	return e, true
}
