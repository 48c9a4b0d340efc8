package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// What keeps a run under `go test` from ending in a panic of go test: a deadline for all
// cells, and a limit for a bubble whose clock stands still.

// What is left before [Harness.Deadline] for the report: a share of the time that there
// was when the run began.
const (
	reservedShare = 10
	reservedMost  = 15 * time.Second
)

// beforeDeadline shortens a limit that goes beyond the deadline; 0 or less: there is no
// time left.
func (e *engine) beforeDeadline(limit time.Duration) time.Duration {
	if d := e.o.Harness.Deadline; !d.IsZero() {
		return min(limit, time.Until(d)-e.reserve)
	}
	return limit
}

// defaultIOPatience is how much real time a bubble may wait for one and the same I/O. An
// answer of a local server takes less; that of a slow model may not, so a limit of the
// caller's is in force in its place.
const defaultIOPatience = 20 * time.Second

// ioPatience is how long nothing but real I/O may keep the clock of a bubble from moving;
// 0: as long as the watchdog allows.
func (e *engine) ioPatience() time.Duration {
	if e.o.Watchdog > 0 {
		return e.o.ioPatience
	}
	return cmp.Or(e.o.ioPatience, defaultIOPatience)
}

// looks is how often a bubble is looked at in the time of the patience. Each look stops
// the process for as long as it takes to write down its goroutines.
const looks = 8

// untilLook is the time until the next look at a bubble whose time is over at end.
func (e *engine) untilLook(end time.Time) time.Duration {
	left := time.Until(end)
	if p := e.ioPatience(); p > 0 {
		left = min(left, p/looks)
	}
	return left
}

// halt keeps later runs in virtual time from beginning.
func (e *engine) halt(why error) { e.halted.CompareAndSwap(nil, &why) }

// refusal is why a run must not begin; nil: it may.
func (e *engine) refusal(virtual bool) error {
	if why := e.halted.Load(); why != nil && virtual {
		return fmt.Errorf("it was not run, for the reason of an earlier run in virtual time: %w", *why)
	}
	if e.beforeDeadline(defaultWatchdog) <= 0 {
		return errors.New("it was not run: the rest of the time until the deadline of the tests is for the report")
	}
	return nil
}

// A stillness finds out for how long nothing but real I/O has kept the clock of a bubble
// from moving. Between two looks anything may have happened that left no trace, so a
// limit on it must be far above the time that an answer takes.
type stillness struct {
	seen  string // what was waiting at the last look
	since time.Time
	again int // looks since then that showed the same
}

// look notes what waits for I/O now, and reports whether the same has been waited for
// since limit. "": nothing waits, or something else keeps the clock too. Looks that come
// late, on a busy machine, do not count for those that are missing.
func (s *stillness) look(now time.Time, waiting string, limit time.Duration) bool {
	if waiting == "" || waiting != s.seen {
		s.seen, s.since, s.again = waiting, now, 0
		return false
	}
	s.again++
	return s.again >= looks && now.Sub(s.since) >= limit
}

// heldByIO names the goroutines in real I/O that keep the clock of a bubble from moving,
// and who they are. Both are empty if something else keeps it too, or nothing does, or
// the traces are not as expected.
func heldByIO(traces, bubble string) (names, who string) {
	var waiting, strangers []tracedGoroutine
	own := map[string]bool{}
	for g := range tracedIn(traces) {
		switch {
		case g.bubble == "":
			strangers = append(strangers, g)
			continue
		case g.bubble != bubble:
			continue
		}
		own[g.number] = true
		switch {
		case g.durable || g.engine && !g.user && !g.busy():
		case g.state != "IO wait":
			return "", ""
		default:
			waiting = append(waiting, g)
			who += g.number + " "
		}
	}
	for _, g := range strangers {
		if own[g.creator] { // it starts a garbage collection, during which Go takes it out of its bubble
			return "", ""
		}
	}
	return list(waiting), who
}

// frozen reports whether nothing but real I/O has kept the clock from moving for longer
// than the engine's patience, and no call of an injection point has ended meanwhile. Then
// the cells that follow would freeze too: the engine runs none of them.
func (r *liveRun) frozen(s *stillness) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := r.engine.ioPatience()
	traces := allTraces(r.bubble)
	names, waiting := heldByIO(traces, r.bubble)
	if len(traces) >= maxTraces {
		waiting = "" // some goroutines are not there
	}
	if waiting != "" && r.injector != nil {
		_, ended := r.injector.EventsSince(math.MaxUint64)
		waiting += fmt.Sprint(ended)
	}
	if limit == 0 || !s.look(time.Now(), waiting, limit) {
		return false
	}
	why := fmt.Errorf("real I/O alone has held the clock for %v of real time, while %s; "+
		"what kept the clock from moving: %s", limit, r.step, names)
	r.result.frozen = true
	r.fail(why)
	r.engine.halt(why)
	return true
}

// abandon gives up waiting for the bubble and returns what is known of the run.
// done says that user code has ended.
func (r *liveRun) abandon(done bool) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.frozen {
		return r.sum()
	}
	r.result.abandoned, r.result.lingering = true, done && r.result.undecided == nil
	switch why := r.why(usercode.CutWatchdog); {
	case r.result.leaked != "":
	case r.left != "":
		r.fail(fmt.Errorf("%w: %s", why, r.left))
	default:
		if names := holders(r.bubble); names != "" {
			why = fmt.Errorf("%w; what kept the clock from moving: %s", why, names)
		}
		r.fail(why)
	}
	return r.sum()
}

// An unanswered is the error of an answer that did not come because the bubble froze. It
// matches [ErrTimeout], and its text does not say that the agent was slow.
type unanswered struct{ error }

func (unanswered) Is(target error) bool { return target == ErrTimeout }
func (u unanswered) Unwrap() error      { return u.error }

// fail sets why the cell cannot be decided, unless that is set; r.mu is held.
func (r *liveRun) fail(why error) {
	r.result.undecided = cmp.Or(r.result.undecided, why)
	if r.asking != nil {
		r.asking.Err = unanswered{why}
		r.collect(r.asking)
		r.result.partial, r.asking = r.asking, nil
	}
}
