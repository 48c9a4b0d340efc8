package chaos

// streaks counts, by caller and key, the failed calls directly before the next one.
// Most sites fail for one caller and key at a time, which needs no map. The lock of
// the injector's log guards it.
type streaks struct {
	last  streak
	n     int
	other map[streak]int
}

// streak names calls that may be attempts at the same thing.
type streak struct {
	caller string
	key    uint64
}

// maxStreaks bounds the failing keys remembered per site; past it all but the last
// are forgotten.
const maxStreaks = 1 << 12

func (f *streaks) count(k streak) int {
	if f.n > 0 && f.last == k {
		return f.n
	}
	return f.other[k]
}

func (f *streaks) fail(k streak) {
	switch {
	case f.n > 0 && f.last == k:
		f.n++
		return
	case f.n > 0:
		if f.other == nil || len(f.other) >= maxStreaks {
			f.other = make(map[streak]int)
		}
		f.other[f.last] = f.n
	}
	f.last, f.n = k, f.other[k]+1
	delete(f.other, k)
}

func (f *streaks) succeed(k streak) {
	if f.n > 0 && f.last == k {
		f.n = 0
		return
	}
	delete(f.other, k)
}

func (f *streaks) empty() bool { return f.n == 0 && len(f.other) == 0 }

// passed counts whether a call without an event failed, for the attempt of the next
// one.
func (s *site) passed(f *frame, key uint64, err error) {
	if err != nil || s.failing.Load() {
		s.ended(f, key, err != nil)
	}
}

func (s *site) ended(f *frame, key uint64, failed bool) {
	s.in.log.mu.Lock()
	defer s.in.log.mu.Unlock()
	s.streak(streak{f.caller(), key}, failed)
}

// streak counts one more call that ended; the log is locked.
func (s *site) streak(k streak, failed bool) {
	if !failed && !s.failing.Load() {
		return
	}
	if failed {
		s.fails.fail(k)
	} else {
		s.fails.succeed(k)
	}
	s.failing.Store(!s.fails.empty())
}

// attempt is the number of the attempt that begins now.
func (s *site) attempt(k streak) int {
	if !s.failing.Load() {
		return 1
	}
	s.in.log.mu.Lock()
	defer s.in.log.mu.Unlock()
	return 1 + s.fails.count(k)
}
