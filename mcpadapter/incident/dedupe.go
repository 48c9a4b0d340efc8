package incident

import "time"

// dedupe remembers which keys were let through lately. A key is let through
// again when its window has passed and no agent works on it any more. Not safe
// for concurrent use.
type dedupe struct {
	window time.Duration
	seen   map[string]sighting
	sweep  int // the size at which expired entries are next looked for
}

type sighting struct {
	until  time.Time
	active bool // queued, or an agent runs
}

// leastSweep keeps the sweeps of small maps rare.
const leastSweep = 1024

func newDedupe(window time.Duration) *dedupe {
	return &dedupe{window: window, seen: make(map[string]sighting), sweep: leastSweep}
}

// admit reports whether an event of that key is the first.
func (d *dedupe) admit(key string, now time.Time) bool {
	if e, ok := d.seen[key]; ok && d.holds(e, now) {
		return false
	}
	d.seen[key] = sighting{until: now.Add(d.window), active: true}
	if len(d.seen) >= d.sweep {
		d.expire(now)
	}
	return true
}

// holds reports whether like events are duplicates. The time of a sighting may be
// that of an earlier process, by a clock that was ahead: where it was by more than
// a window, the sighting says nothing.
func (d *dedupe) holds(s sighting, now time.Time) bool {
	return s.active || now.Before(s.until) && s.until.Sub(now) <= 2*d.window
}

// restore brings back what an earlier runner remembered.
func (d *dedupe) restore(key string, until time.Time, active bool) {
	d.seen[key] = sighting{until, active}
}

// begun says that an agent works on the key.
func (d *dedupe) begun(key string) {
	e := d.seen[key]
	e.active = true
	d.seen[key] = e
}

// done says that nothing works on the key any more.
func (d *dedupe) done(key string) {
	if e, ok := d.seen[key]; ok {
		e.active = false
		d.seen[key] = e
	}
}

// forget takes an admission back: its event was dropped, and the next of its
// kind is news.
func (d *dedupe) forget(key string) { delete(d.seen, key) }

// expire removes what has passed. The next time is when the map has doubled,
// so that the sweeps cost a constant amount for each event.
func (d *dedupe) expire(now time.Time) {
	for key, e := range d.seen {
		if !d.holds(e, now) {
			delete(d.seen, key)
		}
	}
	d.sweep = max(leastSweep, 2*len(d.seen))
}
