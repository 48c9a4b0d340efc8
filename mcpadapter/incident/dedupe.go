package incident

import "time"

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
